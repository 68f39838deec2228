// Package wire decodes what is sent to and from Redis (RESP) and ZooKeeper (frames of jute
// records), for the lab's instruments and for sessions with ZooKeeper. Lengths in the input may
// be hostile: no function allocates more than the input can fill. It also lists the temporary
// errors of Redis, for redislock and the meeting of ranks.
package wire

import "errors"

// MaxMessage is the longest decoded message in bytes, less than four letters as a length.
const MaxMessage = 16 << 20

// ErrForeign is in errors about input of another protocol, or longer than MaxMessage.
var ErrForeign = errors.New("the server speaks another protocol")
