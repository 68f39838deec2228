package chaos

// Children is children for tests.
var Children = children

// Starve stops the process of h, or lets it go on, as another program may: nothing is
// noted of it.
func Starve(h *Host, stop bool) error { return signalTree(h.proc.PID(), stop) }
