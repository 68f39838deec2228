package backend

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"locklab/harness"
)

// answerTime is how long the user's servers have to answer, all together.
const answerTime = 2 * time.Second

// connect returns the user's servers, which text names, if they answer.
func connect(ctx context.Context, k *Kind, text string) (*Server, error) {
	at, err := k.parse(text)
	if err != nil {
		return nil, err
	}
	tctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s := &Server{endpoint: at}
	for _, list := range at.Addrs {
		version, err := firstAnswer(tctx, k, at, list)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s=%s does not answer: %w", harness.ErrUsage, k.Env, strings.Join(list, ","), err)
		}
		s.version = version
	}
	return s, nil
}

// firstAnswer asks all members of one ensemble at once and returns the version of the first
// that serves. One is enough: it can serve only if a majority of its ensemble is there.
func firstAnswer(ctx context.Context, k *Kind, at harness.Endpoint, addrs []string) (version string, err error) {
	type result struct {
		answer
		error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(addrs))
	for _, addr := range addrs {
		go func() {
			a, err := k.probe(ctx, at, addr)
			results <- result{a, err}
		}()
	}
	for range addrs {
		r := <-results
		if r.error == nil {
			return r.version, nil
		}
		err = r.error
	}
	return "", err
}

// hostPorts splits a comma-separated list of host:port, without quoting it in the error.
func hostPorts(list string) ([]string, error) {
	var addrs []string
	for addr := range strings.SplitSeq(list, ",") {
		addr = strings.TrimSpace(addr)
		host, port, err := net.SplitHostPort(addr)
		if err != nil || host == "" || port == "" || strings.ContainsAny(addr, "@/") {
			return nil, fmt.Errorf("want host:port[,host:port]")
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}
