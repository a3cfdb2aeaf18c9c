"""Files of the user's own, as dataset=file reads them."""
