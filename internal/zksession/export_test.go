package zksession

// Ended reports whether the library's goroutines have ended.
func (z *Conn) Ended() bool {
	select {
	case _, open := <-z.events:
		return !open
	default:
		return false
	}
}
