package backend

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/harness"
)

func TestParseZooKeeper(t *testing.T) {
	at, err := parseZooKeeper("a:2181, b:2181,[::1]:1")
	if err != nil || len(at.Addrs) != 1 || strings.Join(at.Addrs[0], " ") != "a:2181 b:2181 [::1]:1" {
		t.Errorf("read as %v, %v, want one ensemble of three", at.Addrs, err)
	}
	for _, text := range []string{"a", "a:1,", "zk://a:1", "a:1/path"} {
		if _, err := parseZooKeeper(text); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%q: error is %v, want ErrUsage", text, err)
		}
	}
}

// globOf returns a glob over the given files.
func globOf(paths ...string) func(string) ([]string, error) {
	return func(pattern string) ([]string, error) {
		var found []string
		for _, path := range paths {
			if ok, err := filepath.Match(pattern, path); err != nil {
				return nil, err
			} else if ok {
				found = append(found, path)
			}
		}
		return found, nil
	}
}

func TestFindZooKeeper(t *testing.T) {
	const (
		debian   = "/usr/share/java/zookeeper.jar"
		brewLib  = "/opt/homebrew/opt/zookeeper/libexec/lib/zookeeper-3.9.4.jar"
		brewJava = "/opt/homebrew/opt/openjdk/bin/java"
		homeJar  = "/opt/zk/lib/zookeeper-3.9.3.jar"
		oldJar   = "/opt/zk/zookeeper-3.4.14.jar"
		jute     = "/opt/zk/lib/zookeeper-jute-3.9.3.jar"
	)
	for name, test := range map[string]struct {
		files           []string
		env             []string
		java, classPath string
	}{
		"Debian":               {[]string{debian}, nil, "/path/java", debian + ":/usr/share/java/slf4j-simple.jar"},
		"Homebrew":             {[]string{brewLib, brewJava}, nil, brewJava, brewLib + ":/opt/homebrew/opt/zookeeper/libexec/lib/*"},
		"release":              {[]string{jute, homeJar, debian}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "/path/java", homeJar + ":/opt/zk/lib/*"},
		"old release":          {[]string{oldJar}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "/path/java", oldJar + ":/opt/zk/lib/*"},
		"JAVA_HOME":            {[]string{debian, brewJava, "/jdk/bin/java"}, []string{"JAVA_HOME", "/jdk"}, "/jdk/bin/java", debian + ":/usr/share/java/slf4j-simple.jar"},
		"no release":           {[]string{debian}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "", ""},
		"jute is not a server": {[]string{jute}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			look := func(name string) (string, error) { return "/path/" + name, nil }
			sys := system{fixedEnv(append(test.env, "ZOOKEEPER_HOME", "", "JAVA_HOME", "")...), look, globOf(test.files...), freePorts, ""}
			p, err := findZooKeeper(sys)
			if p != (program{test.java, test.classPath}) || (err == nil) != (test.java != "") {
				t.Errorf("found %+v, %v, want %q %q", p, err, test.java, test.classPath)
			}
			if err != nil && !errors.Is(err, harness.ErrUnavailable) {
				t.Errorf("error is %v, want ErrUnavailable", err)
			}
		})
	}
}

// An administrator may forbid all commands but srvr: the session proves that it serves.
func TestUserZooKeeperForbidsCommands(t *testing.T) {
	needServers(t, harness.KindZooKeeper)
	sys := labSystem(t)
	k := zooKeeper
	k.command = EnsembleOptions{Config: "4lw.commands.whitelist=ruok"}.command
	k.owns = func(answer, member, int) bool { return true }
	own, err := launch(t.Context(), sys, &k, 1)
	requireNoError(t, err)
	defer own.Stop()
	s, err := startSetup(t.Context(), labSystem(t, "LOCKLAB_ZOOKEEPER", own.Endpoint().Addrs[0][0]), harness.KindZooKeeper, Setup{})
	requireNoError(t, err)
	if s.Version() != own.Version() {
		t.Errorf("version is %q, want %q", s.Version(), own.Version())
	}
}

// The error quotes the output of a server that cannot start, without Java's stack frames.
func TestZooKeeperFails(t *testing.T) {
	needServers(t, harness.KindZooKeeper)
	sys := labSystem(t)
	p, err := findZooKeeper(sys)
	requireNoError(t, err)
	for name, test := range map[string]struct {
		classPath, config, want string
	}{
		"bad configuration": {p.classPath, "tickTime=soon", "soon"},
		"no classes":        {"/nonexistent.jar", "", "QuorumPeerMain"},
	} {
		t.Run(name, func(t *testing.T) {
			k := zooKeeper
			k.command = EnsembleOptions{Config: test.config}.command
			k.find = func(system) (program, error) { return program{p.path, test.classPath}, nil }
			_, err := launch(t.Context(), sys, &k, 1)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), " at org.apache") {
				t.Errorf("error is %v, want %q", err, test.want)
			}
			wantEmpty(t, sys.temp)
		})
	}
}

// hurtEnsemble kills the leader, restarts it, stops the next one, and Stops all.
func hurtEnsemble(t *testing.T, s *Server) {
	leads := func() int {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		i, err := s.Leader(ctx)
		requireNoError(t, err)
		if text, err := FourLetters(ctx, harness.Endpoint{}, s.Endpoint().Addrs[0][i], "srvr"); err != nil || !strings.Contains(text, "Mode: leader") {
			t.Errorf("server %d does not lead: %q, %v", i, text, err)
		}
		return i
	}
	first := leads()
	requireNoError(t, s.Kill(first))
	second := leads()
	if second == first {
		t.Error("the leader was killed and leads")
	}
	requireNoError(t, s.Restart(t.Context(), first))
	if text, err := FourLetters(t.Context(), harness.Endpoint{}, s.Endpoint().Addrs[0][first], "srvr"); err != nil || !strings.Contains(text, "Mode: follower") {
		t.Errorf("a server that was restarted is no follower: %q, %v", text, err)
	}
	requireNoError(t, s.Signal(second, syscall.SIGSTOP))
	if third := leads(); third == second {
		t.Error("the leader is stopped and leads")
	}
	requireNoError(t, s.Stop())
	for _, pid := range s.PIDs() {
		if processAlive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if _, err := s.Leader(endedContext(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("Leader of servers that are gone: %v", err)
	}
}

func endedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestLeaderBesideSilence: only the first query waits long for a stopped server, and later ones
// wait longer and longer, since a busy server is silent for a while.
func TestLeaderBesideSilence(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	defer silent.Close()
	limits := []time.Duration{saysWithin}
	for _, want := range []time.Duration{silentWithin, 110 * time.Millisecond, 121 * time.Millisecond} {
		waits, begin := limits[0], time.Now()
		if i, found := newestLeader(t.Context(), []string{silent.Addr().String()}, limits); found {
			t.Errorf("server %d leads", i)
		}
		if took := time.Since(begin); took < waits {
			t.Errorf("it was waited for %v, want %v", took, waits)
		}
		if limits[0] != want {
			t.Errorf("the next time it has %v, want %v", limits[0], want)
		}
	}
}

// TestLeaderEpoch: if several servers claim to lead, the latest election wins.
func TestLeaderEpoch(t *testing.T) {
	says := func(zxid, mode string) string {
		return "Latency min/avg/max: 0/0.0/0\nZxid: " + zxid + "\nMode: " + mode + "\nNode count: 5\n"
	}
	for text, want := range map[string]int64{
		says("0x200000007", "leader"):                               2,
		says("0x300000000", "leader"):                               3,
		says("0x0", "standalone"):                                   0,
		says("0x200000007", "follower"):                             -1,
		says("", "leader"):                                          -1,
		says("0xfffffffffffffffff", "leader"):                       -1, // more than it has
		"This ZooKeeper instance is not currently serving requests": -1,
		"": -1,
	} {
		if got := leaderEpoch(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for i, epochs := range [][]int64{{5, 6, -1}, {-1, 6, 5}, {6, -1, -1}, {-1, -1, -1}, nil} {
		leader, found := newest(epochs)
		if found != (i < 3) || found && epochs[leader] != 6 {
			t.Errorf("of %v it is %d, %t", epochs, leader, found)
		}
	}
}

// TestEnsembleOf: servers use the configured links and ticks, and tolerate a failed leader.
func TestEnsembleOf(t *testing.T) {
	needServers(t, harness.KindZooKeeper)
	if _, err := StartEnsembleOf(t.Context(), EnsembleOptions{Servers: -1}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("-1 servers: error is %v, want ErrUsage", err)
	}
	refused := errors.New("refused")
	deny := func(int, int, string) (string, error) { return "", refused }
	for _, o := range []EnsembleOptions{{Link: deny}, {Elect: deny}} {
		if _, err := StartEnsembleOf(t.Context(), o); !errors.Is(err, refused) {
			t.Errorf("a link that cannot be made: error is %v", err)
		}
	}
	asked := make(map[[2]int]int)
	count := func(from, to int, addr string) (string, error) { asked[[2]int{from, to}]++; return addr, nil }
	s, err := StartEnsembleOf(t.Context(), EnsembleOptions{TickTime: 400 * time.Millisecond, SyncLimit: 3, InitLimit: 7, Link: count, Elect: count})
	requireNoError(t, err)
	defer s.Stop()
	if len(asked) != 6 {
		t.Errorf("asked for %v, want each way between three servers", asked)
	}
	text, err := FourLetters(t.Context(), harness.Endpoint{}, s.Endpoint().Addrs[0][0], "conf")
	requireNoError(t, err)
	for _, want := range []string{"tickTime=400", "minSessionTimeout=800", "syncLimit=3", "initLimit=7"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	hurtEnsemble(t, s)
}
