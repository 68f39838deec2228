package peers

import (
	"bufio"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/child"
)

//go:embed curator/CuratorPeer.java
var curatorSource []byte

// javaStart bounds the time until the process has compiled its source and printed HELLO.
const javaStart = 60 * time.Second

// curatorJars is Debian's libcurator-recipes-java, with its manifest, and a silent logger.
var curatorJars = []string{"/usr/share/java/curator-recipes.jar", "/usr/share/java/slf4j-nop.jar"}

// CuratorEnv names the environment variable with a class path of Curator.
const CuratorEnv = "LOCKLAB_CURATOR"

// findCurator returns the Java program and its class path: of CuratorEnv, else jars.
func findCurator(getenv func(string) string, java func() (string, error), jars []string) (program, classPath string, err error) {
	const get = "run scripts/deps curator"
	program, err = java()
	if err != nil {
		return "", "", fmt.Errorf("%w: no java, which Curator runs on: %s", harness.ErrUnavailable, get)
	}
	real, err := filepath.EvalSymlinks(program)
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(real), "javac"))
	}
	if err != nil {
		return "", "", fmt.Errorf("%w: %s has no compiler beside it, which starts Curator's peer from its source: %s", harness.ErrUnavailable, program, get)
	}
	if classPath := getenv(CuratorEnv); classPath != "" {
		return program, classPath, nil
	}
	if _, err := os.Stat(jars[0]); err != nil {
		return "", "", fmt.Errorf("%w: no %s: %s, or name Curator's jars in %s=a.jar:b.jar", harness.ErrUnavailable, jars[0], get, CuratorEnv)
	}
	return program, strings.Join(jars, string(filepath.ListSeparator)), nil
}

// A javaPeer is the Java process behind all clients of Curator in this process. It is started
// for the first client, ended a moment after the last has closed, and replaced if it is gone.
type javaPeer struct {
	answer time.Duration // bounds answers that need no lock; a slower process hangs
	linger time.Duration // after the last client has closed
	warmUp time.Duration // of Java's compiler, before the first client is ready

	turn chan struct{} // a token: the goroutine that takes it may use the rest
	now  *javaProcess  // nil before the first
}

func newJavaPeer(answer, linger, warmUp time.Duration) *javaPeer {
	p := &javaPeer{answer: answer, linger: linger, warmUp: warmUp, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// hire returns the running process. The caller must dismiss it.
func (p *javaPeer) hire(ctx context.Context) (*javaProcess, error) {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("peers: wait for Java: %w", ctx.Err())
	}
	defer func() { p.turn <- struct{}{} }()
	if p.now == nil || p.now.gone() {
		j, err := startJava(ctx)
		if err != nil {
			return nil, err
		}
		j.answer = p.answer
		p.now = j
	}
	p.now.users++
	return p.now, nil
}

func (p *javaPeer) dismiss(j *javaProcess) {
	<-p.turn
	j.users--
	last := j.users == 0
	p.turn <- struct{}{}
	if last {
		time.AfterFunc(p.linger, func() { p.retire(j) })
	}
}

func (p *javaPeer) retire(j *javaProcess) {
	<-p.turn
	defer func() { p.turn <- struct{}{} }()
	if j.users == 0 {
		j.kill() // its clients have closed
	}
}

type javaProcess struct {
	child   *child.Process
	stdin   io.Closer // its end ends the process
	addr    string    // where it listens
	token   string    // grants access
	version string    // of Curator
	answer  time.Duration
	users   int // guarded by javaPeer.turn
}

func startJava(ctx context.Context) (_ *javaProcess, err error) {
	program, classPath, err := findCurator(os.Getenv, backend.Java, curatorJars)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	dir, err := os.MkdirTemp("", "locklab-curator-")
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	defer os.RemoveAll(dir) // it has read its source once it runs
	source := filepath.Join(dir, "CuratorPeer.java")
	if err := os.WriteFile(source, curatorSource, 0o600); err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	cmd := exec.Command(program,
		"-Xms128m", "-Xmx512m", // the collector is Java's own choice
		"-XX:-UsePerfData", // otherwise a kill leaves a file in the temporary directory
		"-cp", classPath+backend.NettyOfDebian(classPath), source)
	ctx, cancel := context.WithTimeoutCause(ctx, javaStart, fmt.Errorf("not ready within %v", javaStart))
	defer cancel()
	j, err := launchJava(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("peers: start Curator (%s): %w", program, err)
	}
	return j, nil
}

func launchJava(ctx context.Context, cmd *exec.Cmd) (*javaProcess, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said := &child.Output{Most: 2000}
	cmd.Stderr = said
	j := &javaProcess{stdin: stdin, token: rand.Text()}
	if j.child, err = child.Start(cmd); err != nil {
		return nil, err
	}
	hello := make(chan string, 1)
	go func() {
		fmt.Fprintln(stdin, j.token)
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		hello <- text
	}()
	select {
	case text := <-hello:
		err = j.greet(text)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		j.kill()
		return nil, fmt.Errorf("%w; it printed %q", err, child.LastWords(said.String()))
	}
	return j, nil
}

func (j *javaProcess) greet(hello string) error {
	var java, host, port string
	_, err := fmt.Sscanf(hello, "HELLO peer=curator version=%s java=%s addr=%s port=%s", &j.version, &java, &host, &port)
	if err != nil {
		return fmt.Errorf("it printed %q, want HELLO and its address", strings.TrimSpace(hello))
	}
	j.addr = net.JoinHostPort(host, port)
	return nil
}

func (j *javaProcess) gone() bool {
	select {
	case <-j.child.Done():
		return true
	default:
		return false
	}
}

func (j *javaProcess) kill() {
	j.child.Kill()
	j.stdin.Close()
}

// suspect kills a process whose answer is late if it does not answer a ping either.
func (j *javaProcess) suspect() {
	ctx, cancel := context.WithTimeout(context.Background(), j.answer)
	defer cancel()
	l, _, err := j.dial(ctx, "ping")
	if err != nil {
		j.kill()
		return
	}
	l.Close()
}

func whyNoCurator() string {
	if _, _, err := findCurator(os.Getenv, backend.Java, curatorJars); err != nil {
		return strings.TrimPrefix(err.Error(), harness.ErrUnavailable.Error()+": ")
	}
	return ""
}

type line struct {
	conn net.Conn
	in   *bufio.Reader

	mu sync.Mutex // for writers
}

func words(verb string, pairs ...string) string {
	var b strings.Builder
	b.WriteString(verb)
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, " %s=%s", pairs[i], url.QueryEscape(pairs[i+1]))
	}
	return b.String()
}

// dial opens a connection, states its purpose and returns the first answer.
func (j *javaProcess) dial(ctx context.Context, verb string, pairs ...string) (*line, string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", j.addr)
	if err != nil {
		return nil, "", fmt.Errorf("peers: %w", err)
	}
	l := &line{conn: conn, in: bufio.NewReader(conn)}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	answer, err := l.ask(words(verb, append([]string{"token", j.token}, pairs...)...))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, "", fmt.Errorf("peers: %s: %w", verb, err)
	}
	return l, answer, nil
}

func (l *line) write(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.conn.Write([]byte(text + "\n"))
	return err
}

// read returns the next line. A line that begins with "error" is an error.
func (l *line) read() (string, error) {
	text, err := l.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	text = strings.TrimSpace(text)
	if said, ok := strings.CutPrefix(text, "error "); ok {
		return "", &refusal{said}
	}
	return text, nil
}

func (l *line) ask(text string) (string, error) {
	if err := l.write(text); err != nil {
		return "", err
	}
	return l.read()
}

func (l *line) Close() { l.conn.Close() }

type refusal struct{ said string }

func (e *refusal) Error() string { return "Curator: " + e.said }
