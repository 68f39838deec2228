package redislock

import "strconv"

// shared returns the queue of a [Mutex] for a lock that several may hold: a
// waiter that comes with a limit holds it together with limit - 1 others at most, if those
// agree. It is kept like this:
//
//   - the holders are a sorted set by the end of their time, so that each has a
//     lease of its own, and each script removes those that are over;
//   - a waiter or holder that leaves admits the first waiters for as
//     long as they fit, each with a token of its own and by a notification to its
//     mailbox. No waiter passes one that does not fit: no kind starves another;
//   - each waiter asks again when the first of the leases of the holders ends.
//
// What a release costs the server does not depend on the number of holders, but
// for a logarithm; it grows with the number of those that it admits.
func (c *Client) shared(name string, o Options, limit int) *Mutex {
	m := c.Mutex(name, o)
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
