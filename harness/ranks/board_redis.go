package ranks

import (
	"bytes"
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
	// redisExpiry is the life of a claim without renewal: five beats. With a load of
	// dozens a process is late by a second or two, and dead processes must be noticed
	// within ten.
	redisExpiry = 5 * time.Second

	// postedExpiry is the life of other data after the last renewal by any rank.
	postedExpiry = time.Minute
)

//go:embed beat.lua
var beatText string

// A redisBoard is a board in Redis. A claim is a key with an expiry. All posts of a run
// are one hash, whose fields are places and ranks.
type redisBoard struct {
	place
	client *redis.Client
	script *redis.Script
	ttl    time.Duration
	value  []byte // of the own claim
}

func openRedis(ctx context.Context, at address, p place, expiry time.Duration) (board, error) {
	client, _, err := wireredis.Connect(at.endpoint, func(o *redis.Options) {
		o.DB = at.db
		o.PoolSize = 3 // the watcher, a barrier and a measurement
	})
	if err != nil {
		return nil, err
	}
	b := &redisBoard{place: p, client: client, script: redis.NewScript(beatText), ttl: redisExpiry}
	if expiry > 0 {
		b.ttl = expiry
	}
	for pause := firstPause; ; pause = longer(pause) {
		err := refusal(client.Ping(ctx).Err())
		if err == nil {
			return b, nil
		}
		if errors.Is(err, errRefused) || hopeless(err) || !sleep(ctx, pause) {
			client.Close()
			return nil, err
		}
	}
}

// hopeless reports whether a connection fails the same way again: the server speaks no TLS,
// or its certificate is not trusted.
func hopeless(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || errors.As(err, new(*tls.CertificateVerificationError))
}

func (b *redisBoard) key(parts ...string) string {
	return "locklab:ranks:" + b.job + ":" + strings.Join(parts, ":")
}

func (b *redisBoard) claimKey(rank int) string { return b.key("claim", strconv.Itoa(rank)) }

func (b *redisBoard) claim(ctx context.Context, value []byte) (taken bool, holder []byte, err error) {
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

func (b *redisBoard) beat(ctx context.Context, run string) ([][]byte, error) {
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

func (b *redisBoard) post(ctx context.Context, run, at string, value []byte) error {
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

func (b *redisBoard) read(ctx context.Context, run, at string) ([][]byte, error) {
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

func (b *redisBoard) drop(ctx context.Context, run, at string) error {
	return refusal(b.client.HDel(ctx, b.key("run", run), field(at, b.rank)).Err())
}

func (b *redisBoard) now(ctx context.Context) (now, resolution int64, err error) {
	t, err := b.client.Time(ctx).Result()
	return t.UnixNano(), int64(time.Microsecond), refusal(err)
}

// releaseClaim deletes the claim if it is still the own one.
var releaseClaim = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

func (b *redisBoard) leave(ctx context.Context, _ string) error {
	defer b.client.Close()
	if b.value == nil {
		return nil
	}
	return refusal(releaseClaim.Run(ctx, b.client, []string{b.claimKey(b.rank)}, b.value).Err())
}

func (b *redisBoard) expiry() time.Duration { return b.ttl + time.Second }

func (b *redisBoard) spread() time.Duration { return beatPause + quickPause }

// refusal marks a permanent error reported by the server.
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
