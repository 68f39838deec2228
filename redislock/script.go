package redislock

import (
	"context"
	"embed"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lock"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// newScript returns the script that consists of these files in order.
func newScript(names ...string) *script {
	var source []byte
	for _, name := range names {
		text, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a missing file, found by the first test
		}
		source = append(source, text...)
	}
	_, op, _ := strings.Cut(names[len(names)-1], "_")
	return &script{redis.NewScript(string(source)), op, string(source)}
}

type call struct {
	script *script
	keys   []string
	args   []any
}

// run sends the call, and reports it to ctx's trace: one request, and one more if the server does not have the script yet.
func (c call) run(ctx context.Context, rdb redis.Scripter) *redis.Cmd {
	if other := resent(ctx); other != nil {
		rdb = other
	}
	t := lock.TraceOf(ctx)
	if t == nil {
		return c.script.Run(ctx, rdb, c.keys, c.args...)
	}
	lock.Notify(t.Sent, lock.SentInfo{Name: c.keys[0], Op: c.script.op})
	began := time.Now()
	reply := c.script.Run(ctx, rdb, c.keys, c.args...)
	lock.Notify(t.Answered, lock.AnsweredInfo{Name: c.keys[0], Op: c.script.op, Took: time.Since(began), Err: reply.Err()})
	return reply
}

// needs returns the last argument of a script that takes a lock: the user's rights to the
// commands of these scripts are checked. A missing right to PUBLISH shows in the release.
func needs(scripts ...*script) string {
	var commands []string
	for _, s := range scripts {
		for _, found := range scriptCommand.FindAllStringSubmatch(s.source, -1) {
			command := strings.ToLower(found[1])
			if n, ok := arguments[command]; ok {
				commands = append(commands, command+"/"+strconv.Itoa(n))
			}
		}
	}
	slices.Sort(commands)
	return "needs " + strings.Join(slices.Compact(commands), " ")
}

var scriptCommand = regexp.MustCompile(`redis\.call\('(\w+)'`)

// arguments is the minimum number of arguments of our scripts' commands, from the key on.
var arguments = map[string]int{
	"time": 0,
	"get":  1, "del": 1, "exists": 1, "pttl": 1, "rpop": 1, "zcard": 1, "zpopmin": 1,
	"set": 2, "pexpire": 2, "rpush": 2, "lindex": 2, "zrank": 2, "zrem": 2, "zscore": 2, "hget": 2, "hdel": 2, "hexists": 2,
	"zadd": 3, "zrange": 3, "zrangebyscore": 3, "hset": 3,
}

// take runs a script that takes a lock, and checks the user's rights until it has succeeded.
func (c *Client) take(ctx context.Context, k call, needs string) *redis.Cmd {
	if _, known := c.permitted.Load(needs); known {
		return c.ask(ctx, k)
	}
	k.args = append(slices.Clip(k.args), needs)
	reply := c.ask(ctx, k)
	if err := reply.Err(); err == nil || errors.Is(err, redis.Nil) {
		c.permitted.Store(needs, true)
		c.admitted.Store(true)
	}
	return reply
}

// batch sends all calls at once and returns their replies. It sends a call again with its script
// if the server does not have that.
func batch(ctx context.Context, rdb redis.UniversalClient, calls []call) []*redis.Cmd {
	if len(calls) == 1 {
		return []*redis.Cmd{calls[0].run(ctx, rdb)}
	}
	replies := pipeline(ctx, rdb, calls, (*redis.Script).EvalSha)
	var missing []call
	var at []int // the places of missing
	for i, reply := range replies {
		if redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
			missing, at = append(missing, calls[i]), append(at, i)
		}
	}
	for i, reply := range pipeline(ctx, rdb, missing, (*redis.Script).Eval) {
		replies[at[i]] = reply
	}
	return replies
}

type sending = func(s *redis.Script, ctx context.Context, to redis.Scripter, keys []string, args ...any) *redis.Cmd

func pipeline(ctx context.Context, rdb redis.UniversalClient, calls []call, send sending) []*redis.Cmd {
	replies := make([]*redis.Cmd, len(calls))
	// The reply has the error too.
	_, _ = rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			replies[i] = send(c.script.Script, ctx, p, c.keys, c.args...)
		}
		return nil
	})
	return replies
}

type script struct {
	*redis.Script
	op     string // the operation, for traces
	source string
}
