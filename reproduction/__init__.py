"""The paper behind the suite, reproduced: a plug-in like any other. Its folder ``conf`` holds its experiments."""
