package redislock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A releaser is by what a server deletes a key if it has a value: the answer of
// poll_acquire.lua. The zero value is a script too.
type releaser int

// Commands need no script, and a fraction of a script's time in the server.
const (
	byScript  releaser = 1
	byDelex   releaser = 2 // Redis 8.4: https://redis.io/docs/latest/commands/delex/
	byDelifeq releaser = 3 // Valkey 9.0: https://valkey.io/commands/delifeq/
)

// command returns what to send to delete key if its value is nonce, nil for a script.
func (r releaser) command(key, nonce string) []any {
	switch r {
	case byDelex:
		return []any{"delex", key, "ifeq", nonce}
	case byDelifeq:
		return []any{"delifeq", key, nonce}
	}
	return nil
}

// missing reports whether err is the server's answer that it does not have a command,
// as after a failover to an older one, or that this user may not use it.
func missing(err error) bool {
	return redis.HasErrorPrefix(err, "unknown command") || redis.HasErrorPrefix(err, "NOPERM")
}

// compareAndDelete deletes the key if it carries the nonce, and reports whether it was
// there until now.
func (k *keyLock) compareAndDelete(ctx context.Context, nonce string, by releaser) (held bool, err error) {
	command := by.command(k.name, nonce)
	if command == nil || resent(ctx) != nil || k.c.scripts.Load() {
		return k.release(ctx, pollRelease, nonce)
	}
	err = k.c.persist(ctx, func(ctx context.Context, again bool) error {
		n, err := request(ctx, k.name, pollRelease.op, func() *redis.Cmd { return k.c.rdb.Do(ctx, command...) }).Int()
		held = err == nil && (n == 1 || again && k.c.inTime(ctx)) // as in release
		return err
	})
	if missing(err) {
		k.c.scripts.Store(true)
		return k.release(ctx, pollRelease, nonce)
	}
	return held, err
}
