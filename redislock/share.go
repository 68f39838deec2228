package redislock

import "strconv"

// shared returns the queue of a [Mutex] for a lock with several holders. A waiter with a
// limit holds it together with at most limit - 1 others, if their limits agree:
//
//   - The holders are a sorted set by the end of their time, so each has a separate lease, and
//     each script removes expired ones.
//   - A leaving waiter or holder admits the first waiters as long as they fit, each with its
//     token and a notification to its mailbox. No waiter passes one that does not fit: no kind
//     starves another.
//   - Each waiter asks again when the first lease of the holders ends.
//
// The server's cost of a release grows with the logarithm of the number of holders, and
// with the number of admitted waiters.
func (c *Client) shared(name string, o Options, limit int) *queue {
	m := c.queue(name, o)
	m.kind = sharing
	m.kind.tag = ":" + strconv.Itoa(limit)
	m.keys = append(m.keys, companion(name, "tokens"))
	return m
}

var sharing = queueKind{
	acquire: newScript("needs", "grant", "share", "share_acquire"),
	release: newScript("grant", "share", "share_release"),
	free:    newScript("grant", "share", "share_free"),
	renew:   newScript("grant", "share", "share_renew"),
	check:   newScript("grant", "share", "share_check"),
	pass:    newScript("grant", "share", "share_pass"),
	force:   newScript("grant", "share", "share_force"),
	holders: newScript("grant", "share", "share_holders"),
}.complete()
