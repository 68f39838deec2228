package zklock

import (
	"github.com/go-zookeeper/zk"

	"locklab/internal/zksession"
	"locklab/zklock/internal/recipe"
)

// Other packages of this module use these tickets with their own recipes, like log/internal of
// the standard library: nothing is exported or linked into a program for them.
func init() {
	recipe.Engine.Mutex = func(m any, r recipe.Recipe) {
		m.(*Mutex).p, m.(*Mutex).kinds = follow(r), []string{r.Kind}
	}
	recipe.Engine.RWMutex = func(m any, write, read recipe.Recipe) {
		m.(*RWMutex).write, m.(*RWMutex).read = follow(write), follow(read)
	}
	recipe.Engine.Conn = func(client any) *zksession.Conn { return client.(*Client).conn }
}

func follow(r recipe.Recipe) *protocol {
	return &protocol{kind: r.Kind, create: func(t *ticket) (string, error) {
		if r.Before != nil {
			if err := r.Before(&entry{t: t}); err != nil {
				return "", err
			}
		}
		if r.Persistent {
			return t.create(t.unique, zk.FlagSequence)
		}
		return createEphemeral(t)
	}, look: func(t *ticket) (view, error) {
		e := &entry{t: t}
		v, err := r.Look(e)
		return view{gone: v.Gone, head: v.Head, token: v.Token, wake: v.Wake, again: v.Again, ticket: e.watch}, err
	}}
}

var fairQueue = follow(recipe.Fair)

type entry struct {
	t     *ticket
	watch *ticketWatch // the latest, the owner of the view's wake
}

var _ recipe.Ticket = (*entry)(nil)

func (e entry) Conn() *zksession.Conn                 { return e.t.q.c.conn }
func (e entry) Dir() string                           { return e.t.q.path }
func (e entry) Children() ([]string, *zk.Stat, error) { return e.t.q.c.list(e.t.q.path) }

func (e entry) Line(names []string) (line []recipe.Place, i int) {
	line = places(names, e.t.q.kinds...)
	i = e.t.index(line)
	e.t.place = i - held(line)
	return line, i
}

func (e *entry) Watch(name string) (wake <-chan zk.Event, err error) {
	if e.watch, err = e.t.q.c.watchTicket(e.t.q.path + "/" + name); err != nil {
		return nil, err
	}
	return e.watch.wake, nil
}
