"""English as data: words of counts and deeds, of the first person, and of what is to be remembered."""
