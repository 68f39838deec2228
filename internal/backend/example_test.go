package backend_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"locklab/harness"
	"locklab/internal/backend"
)

// A program requests a server, reports the reason if it cannot have one, and leaves nothing behind.
func ExampleStart() {
	server, err := backend.Start(context.Background(), harness.KindRedis)
	if errors.Is(err, harness.ErrUnavailable) {
		fmt.Println("skipped:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop()
	fmt.Println("redis", server.Version(), "at", server.Endpoint().Addrs)
}
