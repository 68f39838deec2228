package chaos

// Children is children for tests.
var Children = children
