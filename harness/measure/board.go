package measure

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	wireredis "locklab/internal/wire/redis"
)

const (
	// claimExpiry is the life of a claim without renewal: five beats. With a load of dozens a
	// process is late by a second or two, and dead processes must be noticed within ten.
	claimExpiry = 5 * time.Second

	// postedExpiry is the life of other data after the last renewal by any rank.
	postedExpiry = time.Minute

	answerTime  = 2 * time.Second  // for one request
	connectTime = 10 * time.Second // for a server that does not answer at first

	// claimSpread is the greatest difference between the ends of claims of ranks that
	// died at the same time.
	claimSpread = beatPause + quickPause
)

var (
	// errClaim reports that the server does not have this rank's claim.
	errClaim = errors.New("the server does not know this rank's claim")

	// errRefused reports that the server rejected a request, and will reject it again.
	errRefused = errors.New("the server refuses a request")
)

//go:embed beat.lua
var beatText string

type place struct {
	job         string
	rank, ranks int
}

// A board is a Redis server's part of a meeting. A claim is a key with an expiry; the posts of
// a run are a hash by place and rank. Every method is one request or a few, and repeatable.
type board struct {
	place
	client *redis.Client
	script *redis.Script
	ttl    time.Duration
	value  []byte // of the own claim
}

func connect(ctx context.Context, at address, p place, expiry time.Duration) (*board, error) {
	client, _, err := wireredis.Connect(at.endpoint, func(o *redis.Options) {
		o.DB = at.db
		o.PoolSize = 3 // the watcher, a barrier and a measurement
	})
	if err != nil {
		return nil, unreachableSync(at, err)
	}
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	for pause := firstPause; ; pause = longer(pause) {
		err := refusal(client.Ping(connecting).Err())
		if err == nil {
			return &board{place: p, client: client, script: redis.NewScript(beatText), ttl: cmp.Or(expiry, claimExpiry)}, nil
		}
		if errors.Is(err, errRefused) || hopeless(err) || !sleep(connecting, pause) {
			client.Close()
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, unreachableSync(at, err)
		}
	}
}

// hopeless reports whether a connection fails the same way again, such as by TLS.
func hopeless(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || errors.As(err, new(*tls.CertificateVerificationError))
}

func (b *board) key(parts ...string) string {
	return "locklab:ranks:" + b.job + ":" + strings.Join(parts, ":")
}

func (b *board) claimKey(rank int) string { return b.key("claim", strconv.Itoa(rank)) }

// claim takes the rank exclusively; the claim expires unless renewed. If another process has
// it, claim returns that process's value, or nil for one that is just ending.
func (b *board) claim(ctx context.Context, value []byte) (taken bool, holder []byte, err error) {
	b.value = value
	err = b.client.SetArgs(ctx, b.claimKey(b.rank), value, redis.SetArgs{Mode: "NX", TTL: b.ttl}).Err()
	if err == nil {
		return false, nil, nil
	}
	if !errors.Is(err, redis.Nil) {
		return false, nil, refusal(err)
	}
	holder, err = b.client.Get(ctx, b.claimKey(b.rank)).Bytes()
	if errors.Is(err, redis.Nil) {
		return true, nil, nil
	}
	return err != nil || !bytes.Equal(holder, value), holder, refusal(err)
}

// beat renews the claim, and the posts of run unless run is "". It returns the values of all
// claims, by rank, nil for missing ones. The error wraps errClaim if the own claim has ended.
func (b *board) beat(ctx context.Context, run string) ([][]byte, error) {
	keys := make([]string, 0, b.ranks+1)
	for r := range b.ranks {
		keys = append(keys, b.claimKey(r))
	}
	keys = append(keys, b.key("run", run))
	reply, err := b.script.Run(ctx, b.client, keys, b.rank+1, b.value, b.ttl.Milliseconds(), postedExpiry.Milliseconds()).Slice()
	if err != nil {
		return nil, refusal(err)
	}
	if len(reply) != b.ranks {
		return nil, errClaim
	}
	return values(reply), nil
}

func values(reply []any) [][]byte {
	out := make([][]byte, len(reply))
	for i, v := range reply {
		if s, ok := v.(string); ok {
			out[i] = []byte(s)
		}
	}
	return out
}

func field(at string, rank int) string { return at + "/" + strconv.Itoa(rank) }

// post posts the rank's value at a place of a run, once.
func (b *board) post(ctx context.Context, run, at string, value []byte) error {
	key := b.key("run", run)
	var posted *redis.BoolCmd
	_, err := b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		posted = p.HSetNX(ctx, key, field(at, b.rank), value)
		p.PExpire(ctx, key, postedExpiry)
		return nil
	})
	if err != nil || posted.Val() {
		return refusal(err)
	}
	old, err := b.client.HGet(ctx, key, field(at, b.rank)).Bytes()
	if err == nil && !bytes.Equal(old, value) {
		return errTwice
	}
	return refusal(err)
}

// read returns the values posted at a place of a run, nil for ranks without one.
func (b *board) read(ctx context.Context, run, at string) ([][]byte, error) {
	fields := make([]string, b.ranks)
	for r := range fields {
		fields[r] = field(at, r)
	}
	reply, err := b.client.HMGet(ctx, b.key("run", run), fields...).Result()
	if err != nil {
		return nil, refusal(err)
	}
	return values(reply), nil
}

func (b *board) drop(ctx context.Context, run, at string) error {
	return refusal(b.client.HDel(ctx, b.key("run", run), field(at, b.rank)).Err())
}

// now returns the server's clock, in ns since 1970. Its greatest lag is clockResolution.
func (b *board) now(ctx context.Context) (int64, error) {
	t, err := b.client.Time(ctx).Result()
	return t.UnixNano(), refusal(err)
}

var releaseClaim = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// leave gives up the claim and disconnects, even if it fails.
func (b *board) leave(ctx context.Context) error {
	defer b.client.Close()
	if b.value == nil {
		return nil
	}
	return refusal(releaseClaim.Run(ctx, b.client, []string{b.claimKey(b.rank)}, b.value).Err())
}

func (b *board) expiry() time.Duration { return b.ttl + time.Second }

func refusal(err error) error {
	var said redis.Error
	if err == nil || errors.Is(err, redis.Nil) || !errors.As(err, &said) {
		return err
	}
	for _, passing := range []string{"LOADING", "BUSY", "MASTERDOWN", "READONLY", "TRYAGAIN", "NOREPLICAS", "CLUSTERDOWN"} {
		if strings.HasPrefix(said.Error(), passing) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errRefused, err)
}
