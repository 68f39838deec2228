package zklock

// A point is between two steps of a client; a test can stall it there.
type point string

const (
	ticketMade  point = "a ticket was made"
	beforeWatch point = "the ticket ahead is known"
	watchSet    point = "the ticket ahead is watched"
	nodeFound   point = "the node to delete is there"
	lockGranted point = "a lock was granted"
)

func (c *Client) pass(p point) {
	if c.stall != nil {
		c.stall(p)
	}
}
