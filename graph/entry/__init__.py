"""The way in: the door and its checks, what is done with runs from outside, and who watches over them."""
