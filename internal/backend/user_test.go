package backend

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/leaktest"
)

func TestUserServer(t *testing.T) {
	for _, k := range Kinds {
		t.Run(k.Name, func(t *testing.T) {
			leaktest.All(t)
			own := mustStart(t, labSystem(t), k.Name)
			addr := own.Endpoint().Addrs[0][0]
			sys := labSystem(t, k.Env, addr)
			s, err := startSetup(t.Context(), sys, k.Name, Setup{})
			requireNoError(t, err)
			if s.Owned() {
				t.Error("the user's server is owned")
			}
			if s.Version() != own.Version() {
				t.Errorf("version is %q, want %q", s.Version(), own.Version())
			}
			if got := s.Endpoint().Addrs; len(got) != 1 || !slices.Equal(got[0], []string{addr}) {
				t.Errorf("addresses are %v, want %s", got, addr)
			}
			requireNoError(t, s.Stop())
			if err := checkAnswers(k.Name, addr); err != nil {
				t.Errorf("Stop touched the user's server: %v", err)
			}
			wantEmpty(t, sys.temp)
			if k.alone { // the user's are used, whatever their number
				several, err := startSetup(t.Context(), sys, k.Name, Setup{Independent: 3})
				if err != nil || len(several.Endpoint().Addrs) != 1 {
					t.Errorf("three of one server: %+v, %v", several, err)
				}
			}
			requireNoError(t, own.Stop())
		})
	}
}

// An ensemble with one live member still serves; independent servers with one down do not.
func TestUserServersPartlyDown(t *testing.T) {
	for kind, want := range map[string]error{harness.KindZooKeeper: nil, harness.KindRedis: harness.ErrUsage} {
		t.Run(kind, func(t *testing.T) {
			up := mustStart(t, labSystem(t), kind).Endpoint().Addrs[0][0]
			k, _ := lookup(kind)
			_, err := startSetup(t.Context(), labSystem(t, k.Env, deadAddr(t)+","+up), kind, Setup{})
			if !errors.Is(err, want) {
				t.Errorf("error is %v, want %v", err, want)
			}
		})
	}
}

func deadAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// deafAddr returns an address that accepts connections, never reads, and sends only reply.
func deafAddr(t *testing.T, reply string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			c.Write([]byte(reply))
		}
	}()
	return l.Addr().String()
}

func TestUserServerDoesNotAnswer(t *testing.T) {
	for name, addr := range map[string]string{
		"dead":    deadAddr(t),
		"deaf":    deafAddr(t, ""),
		"foreign": deafAddr(t, "220 mail.example.org ESMTP\r\n"),
	} {
		for _, k := range Kinds {
			t.Run(name+"/"+k.Name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, err := startSetup(ctx, labSystem(t, k.Env, addr), k.Name, Setup{})
				if !errors.Is(err, harness.ErrUsage) {
					t.Fatalf("error is %v, want one that wraps ErrUsage", err)
				}
				want := k.Env + "=" + addr + " does not answer: "
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error is %q, want one line with %q", err, want)
				}
			})
		}
	}
}

func TestUserServerCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := startSetup(ctx, labSystem(t, "LOCKLAB_REDIS", deafAddr(t, "")), harness.KindRedis, Setup{})
	if !errors.Is(err, context.Canceled) || errors.Is(err, harness.ErrUsage) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
}
