package redislock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A releaser selects how a server deletes a key with a given value; zero is a script.
type releaser int

// A command needs no script, and a fraction of a script's time in the server.
const (
	byScript  releaser = 1
	byDelex   releaser = 2 // Redis 8.4: https://redis.io/docs/latest/commands/delex/
	byDelifeq releaser = 3 // Valkey 9.0: https://valkey.io/commands/delifeq/
)

func (r releaser) command(key, nonce string) []any {
	switch r {
	case byDelex:
		return []any{"delex", key, "ifeq", nonce}
	case byDelifeq:
		return []any{"delifeq", key, nonce}
	}
	return nil
}

// missing reports whether the server lacks the command, or the user may not use it.
func missing(err error) bool {
	return redis.HasErrorPrefix(err, "unknown command") || redis.HasErrorPrefix(err, "NOPERM")
}

// compareAndDelete deletes the key if it has the nonce, and reports whether it had.
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
