package zksession

import "bytes"

func (z *Conn) Ended() bool {
	select {
	case _, open := <-z.events:
		return !open
	default:
		return false
	}
}

func (z *Conn) Hello() []byte { return bytes.Clone(z.hello) }

var IsOlder = isOlder

func (z *Conn) Overtaken() bool {
	r := &z.Link().c.resume
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overtaken
}
