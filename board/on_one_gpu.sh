#!/bin/bash
# Run phases of the board with several processes on one GPU, and pack the results.
#
#   board/on_one_gpu.sh SECONDS ARCHIVE PHASE[:WORKLOAD,…] ...
#   board/on_one_gpu.sh 540 part1 dev tune:D1,D2
#   DONE="part1 part2" board/on_one_gpu.sh 540 part3 tune:T1 hidden
#
# It starts no further run after SECONDS. The archive has the runs that are done by then. DONE are archives whose runs are
# skipped. Further variables: PROCESSES (8), DEVICE (cuda), RESULTS (results), CHOSEN (chosen.csv), BOARD (board/v1).
# A GPU with CUDA MPS computes the processes at the same time.
set -u
cd "$(dirname "$0")/.." || exit 1
if [ $# -lt 3 ]; then sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2; fi
seconds=$1 archive=$2; shift 2
python=${PYTHON:-python} processes=${PROCESSES:-8} device=${DEVICE:-cuda} results=${RESULTS:-results}
options=(--board "${BOARD:-board/v1}")
for done in ${DONE:-}; do options+=(--done "$done"); done
[ -n "${CHOSEN:-}" ] && options+=(--chosen "$CHOSEN")
mkdir -p "$results"

if [ "$device" = cuda ] && command -v nvidia-cuda-mps-control >/dev/null; then
    pgrep -f nvidia-cuda-mps-control >/dev/null || nvidia-cuda-mps-control -d ||
        echo "CUDA MPS did not start: the processes take turns." >&2
fi

pieces() {  # one line per piece: phase, workloads or -, K/N
    local spec phase workloads
    for spec in "$@"; do
        phase=${spec%%:*} workloads=-
        [ "$phase" != "$spec" ] && workloads=${spec#*:}
        for ((k = 1; k <= processes; k++)); do echo "$phase" "$workloads" "$k/$processes"; done
    done
}

one() {  # compute a piece, in place of the shell that calls it
    local words=(run "$1" --piece "$3")
    [ "$2" != - ] && words+=(--workload "$2")
    echo "$1 $2 $3 begins after $SECONDS s"
    exec "$python" bench/board.py "${words[@]}" "${options[@]}" "results=$results" "device=$device" \
        >"$results/board_$1_${2//,/_}_${3%/*}.log" 2>&1
}

end_at=$((SECONDS + seconds))
while read -r -u 3 phase workloads piece; do
    while [ "$(jobs -rp | wc -l)" -ge "$processes" ] && [ $SECONDS -lt $end_at ]; do sleep 0.2; done
    [ $SECONDS -ge $end_at ] && break
    one "$phase" "$workloads" "$piece" &
done 3< <(pieces "$@")
while [ -n "$(jobs -rp)" ] && [ $SECONDS -lt $end_at ]; do sleep 0.2; done
kill -TERM $(jobs -rp) 2>/dev/null  # they record the interruption
for ((k = 0; k < 50; k++)); do [ -n "$(jobs -rp)" ] && sleep 0.2; done
kill -KILL $(jobs -rp) 2>/dev/null
wait
tail -n 2 "$results"/board_*.log
for metrics in node_loss,suboptimality node_loss; do  # without drawn problems, no run has a suboptimality
    "$python" analysis/archive.py "$results" "$archive" --metrics $metrics && exit
done
exit 1
