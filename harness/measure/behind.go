package measure

import (
	"context"
	"errors"

	"locklab/harness"
)

type grant struct {
	client, at int // and the number of its mark
	lease      harness.Lease
	err        error
}

// The contenders are the clients of a dry run: one holds the lock and the others wait.
type contenders struct {
	*dryRun
	granted chan grant
	waiting int
	holder  grant

	queue, handover, unlock legs
	sent                    []float64 // messages from one release to the next
	polls                   int       // turns in which a waiter asked on its own
	turns                   int
}

func (c *contenders) ask(ctx, wait context.Context, client int) (again bool, err error) {
	c.waiting++
	go func() {
		lease, err := c.sessions[client].Lock(wait)
		c.granted <- grant{client, c.journal.mark(client), lease, err}
	}()
	return c.settle(ctx)
}

func (c *contenders) next(ctx context.Context) error {
	select {
	case c.holder = <-c.granted:
		c.waiting--
		return c.holder.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *dryRun) behind(ctx context.Context) (_ *harness.TripsBehind, err error) {
	wait, giveUp := context.WithCancel(ctx)
	c := &contenders{dryRun: r, granted: make(chan grant, contends)}
	defer func() { err = errors.Join(err, c.disperse(ctx, giveUp)) }()
	for len(r.sessions) < contends {
		if err := r.join(ctx); err != nil {
			return nil, err
		}
	}
	for client := range r.sessions {
		if _, err := c.ask(ctx, wait, client); err != nil {
			return nil, err
		}
		if client == 0 {
			if err := c.next(ctx); err != nil {
				return nil, err
			}
		}
	}
	for !c.known() {
		if err := c.turn(ctx, wait); err != nil {
			return nil, err
		}
	}
	b := &harness.TripsBehind{Polls: 2*c.polls > c.turns}
	if !b.Polls {
		all := legs{c.sent, c.sent}
		b.Queue, b.Handover, b.Unlock, b.Requests = c.queue.leg(), c.handover.leg(), c.unlock.leg(), all.leg().Requests
	}
	return b, nil
}

// known reports whether enough turns were played: few if a waiter always asked on its own.
func (c *contenders) known() bool {
	switch {
	case c.turns < warm:
		return false
	case c.polls == c.turns:
		return c.turns > warm
	}
	return c.queue.enough() && c.handover.enough() && c.unlock.enough() || c.turns == warm+most
}

func (c *contenders) turn(ctx, wait context.Context) error {
	last := c.holder
	releases := c.journal.mark(last.client)
	err := last.lease.Unlock(ctx)
	free := c.journal.mark(last.client)
	c.holder = grant{}
	if err := errors.Join(err, c.next(ctx)); err != nil {
		return err
	}
	passes, err := c.settle(ctx)
	if err != nil {
		return err
	}
	asks := c.journal.mark(last.client)
	again, err := c.ask(ctx, wait, last.client)
	if err != nil {
		return err
	}
	end := c.journal.now()
	hand := reckon(c.journal.between(releases, c.holder.at), last.client).known[c.holder.client]
	c.turns++
	if passes || again || !hand.caused {
		c.polls++
		return nil
	}
	if c.turns <= warm {
		return nil
	}
	own := reckon(c.journal.between(asks, end), last.client)
	c.queue.add(own.known[last.client].later(own.sent[last.client]), requests(c.journal.between(asks, end)))
	c.handover.add(hand, requests(c.journal.between(releases, c.holder.at)))
	c.unlock.add(reckon(c.journal.between(releases, free), last.client).known[last.client], 0)
	c.sent = append(c.sent, requests(c.journal.between(releases, end)))
	return nil
}

func (c *contenders) disperse(ctx context.Context, giveUp func()) (err error) {
	giveUp()
	if c.holder.lease != nil {
		err = c.holder.lease.Unlock(ctx)
	}
	for range c.waiting {
		if g := <-c.granted; g.err == nil { // the grant came first
			err = errors.Join(err, g.lease.Unlock(ctx))
		}
	}
	return err
}
