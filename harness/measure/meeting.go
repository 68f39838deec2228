package measure

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/wire"
	wireredis "locklab/internal/wire/redis"
)

const (
	// claimExpiry is the life of a claim without renewal: five beats. With a load of dozens a
	// process is late by a second or two, and dead processes must be noticed within ten.
	claimExpiry = 5 * time.Second

	// postedExpiry is the life of posts after a rank last waited there.
	postedExpiry = time.Minute

	answerTime  = 2 * time.Second  // for one request
	connectTime = 10 * time.Second // for a server that does not answer
)

// errRefused reports that the server rejected a request, and will reject it again.
var errRefused = errors.New("the server refuses a request")

//go:embed beat.lua
var beatText string

const forms = "redis://[user:password@]host:port[/db], without TLS; characters such as / # ? and % in a password are written %2F %23 %3F %25"

// RedactedSync returns a URL of [RankOptions] without its user and password, for files and
// messages. Of a faulty URL, too, everything before the last @ is removed.
func RedactedSync(sync string) string { return credentials.ReplaceAllString(sync, "${1}xxxxx@") }

var credentials = regexp.MustCompile(`(?s)^(.*?://)?.*@`)

// parseSync reads the URL of [RankOptions]. Its errors quote nothing of it.
func parseSync(text string) (*redis.Options, error) {
	if text == "" {
		return nil, usage("no server is named where the ranks meet: want %s", forms)
	}
	o, err := redis.ParseURL(text)
	if err != nil || o.TLSConfig != nil || o.Network != "tcp" || strings.ContainsAny(text, "?#") {
		return nil, usage("the address of the server where the ranks meet is invalid: want %s", forms)
	}
	return o, nil
}

// A meeting is the Redis server where the ranks meet. A claim is a key with an expiry; the posts of
// a place are a hash by rank. Every method is one request, and repeatable.
type meeting struct {
	job         string
	rank, ranks int
	at          string // names the server, without credentials
	client      *redis.Client
	script      *redis.Script
	ttl         time.Duration
	value       []byte // of the own claim
}

// connect returns the meeting of o once the server answers.
func (o RankOptions) connect(ctx context.Context) (*meeting, error) {
	url, err := parseSync(o.Sync)
	if err != nil {
		return nil, err
	}
	at := harness.Endpoint{Kind: harness.KindRedis, Addrs: [][]string{{url.Addr}}, Username: url.Username, Password: url.Password}
	client, _, err := wireredis.Connect(at, func(r *redis.Options) {
		r.DB = url.DB
		r.PoolSize = 3 // the watcher, a barrier and a measurement
	})
	if err != nil {
		return nil, err
	}
	b := &meeting{job: o.Job, rank: o.Rank, ranks: o.Ranks, at: "Redis at " + url.Addr, client: client,
		script: redis.NewScript(beatText), ttl: cmp.Or(o.expiry, claimExpiry)}
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	for pause := firstPause; ; pause = longer(pause) {
		if err = refusal(client.Ping(connecting).Err()); err == nil {
			return b, nil
		}
		if errors.Is(err, errRefused) || !sleep(connecting, pause) {
			client.Close()
			return nil, cmp.Or(context.Cause(ctx), b.unreachable(err))
		}
	}
}

func (b *meeting) unreachable(err error) error {
	if errors.Is(err, errRefused) {
		return usage("%s, where the ranks meet, refuses this rank: %w", b.at, err)
	}
	return usage("%s, where the ranks meet, does not answer: %w", b.at, err)
}

func (b *meeting) key(parts ...string) string {
	return "locklab:ranks:" + b.job + ":" + strings.Join(parts, ":")
}

func (b *meeting) claimKey(rank int) string { return b.key("claim", strconv.Itoa(rank)) }

// beat renews the claim; if join is set, it first claims a free rank. It returns the values of
// all claims, by rank, nil for missing ones.
func (b *meeting) beat(ctx context.Context, join bool) ([][]byte, error) {
	keys := make([]string, b.ranks)
	for r := range keys {
		keys[r] = b.claimKey(r)
	}
	reply, err := b.script.Run(ctx, b.client, keys, b.rank+1, b.value, b.ttl.Milliseconds(), join).Slice()
	if err != nil {
		return nil, refusal(err)
	}
	claims := make([][]byte, b.ranks)
	for r, v := range reply {
		if s, ok := v.(string); ok {
			claims[r] = []byte(s)
		}
	}
	return claims, nil
}

// exchange posts the rank's value at a place, unless it is nil or has been posted. It returns
// all values there, by rank, nil for missing ones.
func (b *meeting) exchange(ctx context.Context, run, place string, value []byte) ([][]byte, error) {
	key := b.key("run", run, place)
	var all *redis.MapStringStringCmd
	cmds, err := b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if value != nil {
			p.HSetNX(ctx, key, strconv.Itoa(b.rank), value)
			p.PExpire(ctx, key, postedExpiry)
		}
		all = p.HGetAll(ctx, key)
		return nil
	})
	if err != nil { // EXECABORT hides the reason, which the first command has
		return nil, refusal(cmp.Or(cmds[0].Err(), err))
	}
	posts := make([][]byte, b.ranks)
	for r := range posts {
		if v, ok := all.Val()[strconv.Itoa(r)]; ok {
			posts[r] = []byte(v)
		}
	}
	return posts, nil
}

// clockResolution is the greatest lag of the time from now, in ns.
const clockResolution = int64(time.Microsecond)

// now returns the server's clock, in ns since 1970.
func (b *meeting) now(ctx context.Context) (int64, error) {
	t, err := b.client.Time(ctx).Result()
	return t.UnixNano(), refusal(err)
}

var releaseClaim = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

func (b *meeting) leave(ctx context.Context) error {
	defer b.client.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	return refusal(releaseClaim.Run(ctx, b.client, []string{b.claimKey(b.rank)}, b.value).Err())
}

func refusal(err error) error {
	_, answered := errors.AsType[redis.Error](err)
	temporary := func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }
	if !answered || errors.Is(err, redis.Nil) || temporary("READONLY") || slices.ContainsFunc(wire.TemporaryErrors, temporary) {
		return err
	}
	return fmt.Errorf("%w: %w", errRefused, err)
}
