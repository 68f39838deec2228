package trace

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"locklab/internal/faultproxy"
	"locklab/internal/wire"
)

// A Trace is the sequence of events of a lock.
type Trace struct {
	Lock    string `json:"lock"`
	Server  string `json:"server"`
	Clients int    `json:"clients"`
	Path    string `json:"path"` // of the lock's node, or the common text of its keys
	Steps   []Step `json:"steps"`
}

// A Step is one event.
type Step struct {
	At      float64 `json:"at_ms"`             // since the start; of a call, when the request was sent
	Took    float64 `json:"took_ms,omitempty"` // until the reply
	Client  string  `json:"client,omitempty"`  // "" is the server, seen by the observer
	Kind    string  `json:"kind"`              // "note", "call", "event" or "server"
	Request string  `json:"request,omitempty"`
	Reply   string  `json:"reply,omitempty"`
	Text    string  `json:"text,omitempty"` // a client's statement, an event, or the server's state

	Tree []Node `json:"tree,omitempty"` // ZooKeeper: after this step
}

// A Node is the lock's node, which is called ".", or one below it.
type Node struct {
	Name    string   `json:"name"`
	Owner   string   `json:"owner,omitempty"` // the node ends with this client's session
	Watches []string `json:"watched_by,omitempty"`
}

// A snapshot is the server's state as seen by an observer.
type snapshot struct {
	text  string
	nodes []string // ZooKeeper: below the lock's
}

// A recorder records the messages that pass the proxies.
type recorder struct {
	mu     sync.Mutex
	before snapshot
	began  time.Time // zero before the start
	last   time.Time // message
	events []*event
	open   map[callID]*event // without a reply
}

type callID struct {
	client     string
	conn, call int
}

type event struct {
	at      time.Time
	client  string
	said    string             // by the client about itself
	seen    *snapshot          // by the observer
	message faultproxy.Message // a request, or an unrequested message
	reply   any                // to a request; nil without one
	replied time.Time
}

func (r *recorder) start(before snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before, r.began = before, time.Now()
	r.last = r.began
}

func (r *recorder) calm() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) == 0 && time.Since(r.last) >= quiet
}

func (r *recorder) say(client, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = time.Now()
	r.events = append(r.events, &event{at: r.last, client: client, said: text})
}

func (r *recorder) addSnapshot(s snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, &event{at: time.Now(), seen: &s})
}

func (r *recorder) see(client string, s faultproxy.Sighting) {
	if s.MaintainsConnection() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		return
	}
	r.last = s.At
	id := callID{client, s.Conn, s.Call}
	if s.Dir == faultproxy.Reply && s.Call > 0 {
		if e := r.open[id]; e != nil {
			e.reply, e.replied = s.Body, s.At
			delete(r.open, id)
		}
		return
	}
	e := &event{at: s.At, client: client, message: s.Message}
	r.events = append(r.events, e)
	if s.Dir == faultproxy.Request {
		r.open[id] = e
	}
}

// timeline sorts the events, a call at its request. It follows nodes and watches, and returns
// an error if the server's state differs.
func (r *recorder) timeline(lock string) (*Trace, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.events, func(a, b *event) int { return a.at.Compare(b.at) })
	t := &Trace{Path: lock}
	tree := &zooTree{path: lock, owners: make(map[string]string)}
	for _, name := range r.before.nodes {
		tree.owners[name] = ""
	}
	for _, e := range r.events {
		s, err := e.step(tree)
		if err != nil {
			return nil, err
		}
		s.At = ms(e.at.Sub(r.began))
		t.Steps = append(t.Steps, s)
	}
	return t, nil
}

func (e *event) step(tree *zooTree) (s Step, err error) {
	s = Step{Kind: "note", Client: e.client, Text: e.said}
	if e.seen != nil {
		s.Kind, s.Text = "server", e.seen.text
		err = tree.check(e.seen.nodes)
	}
	switch body := e.message.Body.(type) {
	case *faultproxy.ZooRequest:
		reply, _ := e.reply.(*faultproxy.ZooReply)
		s.Kind, s.Request, s.Reply = "call", zooRequest(tree.path, body), zooReply(tree.path, reply)
		tree.call(e.client, body, reply)
	case *faultproxy.ZooEvent:
		s.Kind, s.Text = "event", zooEvent(tree.path, body)
		tree.event(e.client, body)
	case []string:
		s.Kind, s.Request, s.Reply = "call", words(body), "(no reply)"
		if v, ok := e.reply.(wire.Value); ok {
			s.Reply = v.String()
		}
	case wire.Value:
		s.Kind, s.Text = "event", body.String()
	}
	if !e.replied.IsZero() {
		s.Took = ms(e.replied.Sub(e.at))
	}
	s.Tree = tree.nodes()
	return s, err
}

// words joins the words of a command and quotes words that are not text: they would break
// lines, and terminals execute some.
func words(command []string) string {
	shown := make([]string, len(command))
	for i, word := range command {
		shown[i] = word
		if !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }) {
			shown[i] = strconv.QuoteToASCII(word)
		}
	}
	return strings.ReplaceAll(strings.Join(shown, " "), "\t", " ")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

type zooTree struct {
	path    string
	owners  map[string]string // node → client, "" for a persistent node
	watches []zooWatch
}

type zooWatch struct {
	client, path string
	list         bool // of the children
}

func (z *zooTree) call(client string, q *faultproxy.ZooRequest, r *faultproxy.ZooReply) {
	if r == nil {
		return
	}
	if len(q.Ops) > 0 {
		if len(r.Ops) != len(q.Ops) || slices.ContainsFunc(r.Ops, func(op faultproxy.ZooReply) bool { return op.Err != 0 }) {
			return
		}
		for i := range q.Ops {
			z.call(client, &q.Ops[i], &r.Ops[i])
		}
		return
	}
	if r.Err != 0 && (q.Op != "exists" || r.Err != faultproxy.NoNode) {
		return
	}
	switch {
	case strings.HasPrefix(q.Op, "create"):
		if path.Dir(r.Path) == z.path {
			z.owners[path.Base(r.Path)] = ""
			if q.Ephemeral() {
				z.owners[path.Base(r.Path)] = client
			}
		}
	case q.Op == "delete":
		z.remove(q.Path)
	case q.Watch:
		z.watches = append(z.watches, zooWatch{client, q.Path, strings.HasPrefix(q.Op, "getChildren")})
	}
}

func (z *zooTree) remove(node string) {
	if path.Dir(node) == z.path {
		delete(z.owners, path.Base(node))
	}
}

func (z *zooTree) event(client string, e *faultproxy.ZooEvent) {
	z.watches = slices.DeleteFunc(z.watches, func(w zooWatch) bool {
		return w.client == client && w.path == e.Path && (e.Type == faultproxy.NodeDeleted || w.list == (e.Type == faultproxy.NodeChildrenChanged))
	})
	if e.Type == faultproxy.NodeDeleted {
		z.remove(e.Path)
	}
}

func (z *zooTree) nodes() (nodes []Node) {
	watchers := func(p string) (names []string) {
		for _, w := range z.watches {
			if w.path == p && !slices.Contains(names, w.client) {
				names = append(names, w.client)
			}
		}
		return names
	}
	if clients := watchers(z.path); len(clients) > 0 {
		nodes = append(nodes, Node{Name: ".", Watches: clients})
	}
	var below []Node
	for name, owner := range z.owners {
		below = append(below, Node{name, owner, watchers(z.path + "/" + name)})
	}
	slices.SortFunc(below, func(a, b Node) int {
		return cmp.Or(cmp.Compare(number(a.Name), number(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return append(nodes, below...)
}

func number(name string) string { return name[max(0, len(name)-10):] }

func (z *zooTree) check(names []string) error {
	own := slices.Sorted(maps.Keys(z.owners))
	slices.Sort(names)
	if !slices.Equal(own, names) {
		return fmt.Errorf("trace: the messages do not explain the nodes: they show %q, and the server has %q", own, names)
	}
	return nil
}
