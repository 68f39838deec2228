package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/internal/table"
	wirezk "locklab/internal/wire/zookeeper"
)

// Write writes the trace in lines.
func (t *Trace) Write(out io.Writer) error {
	where := "Its node is " + t.Path
	if !strings.HasPrefix(t.Path, "/") {
		where = "Its keys contain " + t.Path
	}
	fmt.Fprintf(out, "%s on %s. %s.\n", t.Lock, t.Server, where)
	rows := table.New(out)
	var tree []Node
	for _, s := range t.Steps {
		if s.Kind == "server" && s.Text == "" {
			continue
		}
		rows.Row(fmt.Sprintf("%7.1f ms", s.At), s.Client, brief(s.String()))
		if !reflect.DeepEqual(tree, s.Tree) {
			tree = s.Tree
			for _, n := range tree {
				rows.Row("", "", "    "+brief(n.String()))
			}
			if len(tree) == 0 {
				rows.Row("", "", "    no nodes, no watches")
			}
		}
	}
	return rows.Flush()
}

// String returns the step without its time and client.
func (s Step) String() string {
	switch s.Kind {
	case "call":
		return s.Request + " -> " + s.Reply
	case "event":
		return "is told: " + s.Text
	case "server":
		return "the server has " + s.Text
	}
	return s.Text
}

// String returns the node with its owner and its watches.
func (n Node) String() string {
	text := n.Name
	if n.Owner != "" {
		text += ", " + n.Owner + "'s"
	}
	if len(n.Watches) > 0 {
		text += ", watched by " + strings.Join(n.Watches, " and ")
	}
	return text
}

var (
	longHex  = regexp.MustCompile(`\b(_c_)?([0-9a-f]{4})[0-9a-f]{28,36}\b`)
	longText = regexp.MustCompile(`\b([A-Z2-7]{4})[A-Z2-7]{22}\b`)
)

func brief(line string) string {
	if i := strings.IndexByte(line, '\n'); i >= 0 { // the source of a script
		j := strings.LastIndexByte(line, '\n')
		line = line[:i] + " …" + line[j+1:]
	}
	line = longHex.ReplaceAllString(line, "$1$2…")
	return longText.ReplaceAllString(line, "$1…")
}

func below(lock, path string) string {
	if path == lock {
		return "."
	}
	return strings.TrimPrefix(path, lock+"/")
}

func zooRequest(lock string, q *faultproxy.ZooRequest) string {
	words := []string{q.Op}
	for _, part := range []struct {
		there bool
		text  string
	}{
		{q.Path != "", below(lock, q.Path)},
		{q.Ephemeral(), "ephemeral"},
		{q.Sequential(), "sequential"},
		{q.DataLength > 0, fmt.Sprintf("%d bytes", q.DataLength)},
		{q.Watch, "watch"},
	} {
		if part.there {
			words = append(words, part.text)
		}
	}
	for _, op := range q.Ops {
		words = append(words, "["+zooRequest(lock, &op)+"]")
	}
	for _, p := range q.Watches {
		words = append(words, below(lock, p))
	}
	return strings.Join(words, " ")
}

func zooReply(lock string, r *faultproxy.ZooReply) string {
	switch {
	case r == nil:
		return "(no reply)"
	case r.Err != 0:
		return cmp.Or(errorNames[r.Err], fmt.Sprintf("error %d", r.Err))
	case r.Path != "":
		return below(lock, r.Path)
	case len(r.Ops) > 0:
		var parts []string
		for _, op := range r.Ops {
			parts = append(parts, "["+zooReply(lock, &op)+"]")
		}
		return strings.Join(parts, " ")
	case r.Children != nil:
		names := slices.SortedFunc(slices.Values(r.Children), func(a, b string) int { return strings.Compare(number(a), number(b)) })
		return "[" + strings.Join(names, " ") + "]"
	case r.HasStat && r.DataLength > 0:
		return fmt.Sprintf("%d bytes, version %d", r.DataLength, r.Version)
	case r.HasStat:
		return fmt.Sprintf("it is there, version %d", r.Version)
	}
	return "done"
}

var errorNames = map[int32]string{faultproxy.NoNode: "no such node", faultproxy.BadVersion: "wrong version",
	faultproxy.NodeExists: "exists already", faultproxy.NotEmpty: "has nodes below it", faultproxy.SessionExpired: "session expired"}

func zooEvent(lock string, e *faultproxy.ZooEvent) string {
	names := map[int32]string{faultproxy.NodeCreated: "was created", faultproxy.NodeDeleted: "was deleted",
		faultproxy.NodeDataChanged: "has changed", faultproxy.NodeChildrenChanged: "has other nodes below it"}
	if name := names[e.Type]; name != "" {
		return below(lock, e.Path) + " " + name
	}
	return fmt.Sprintf("event %d, state %d", e.Type, e.State)
}

// An observer reads the state of the lock at the server.
type observer func(context.Context) (snapshot, error)

func observeZooKeeper(conn *wirezk.Conn, lock string) observer {
	return func(context.Context) (s snapshot, err error) {
		s.nodes, _, err = conn.Children(lock)
		if errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
		return s, err
	}
}

func observeRedis(client redis.UniversalClient, lock string) observer {
	return func(ctx context.Context) (snapshot, error) {
		var keys []string
		all := client.Scan(ctx, 0, "*"+lock+"*", 1000).Iterator()
		for all.Next(ctx) {
			kind, err := client.Type(ctx, all.Val()).Result()
			ttl, failed := client.PTTL(ctx, all.Val()).Result()
			if err := errors.Join(err, failed); err != nil {
				return snapshot{}, err
			}
			keys = append(keys, fmt.Sprintf("%s (%s, %v left)", all.Val(), kind, ttl.Round(time.Millisecond)))
		}
		slices.Sort(keys)
		if len(keys) == 0 {
			keys = []string{"no key of the lock"}
		}
		return snapshot{text: strings.Join(keys, ", ")}, all.Err()
	}
}
