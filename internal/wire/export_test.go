package wire

// Ended reports whether the library's goroutines have ended.
func (z *ZooKeeperConn) Ended() bool {
	select {
	case _, open := <-z.events:
		return !open
	default:
		return false
	}
}
