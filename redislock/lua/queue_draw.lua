-- Returns a token. KEYS[1] the counter.
return (number())
