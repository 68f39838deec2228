package simulate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"locklab/internal/child"
)

const offloadPatience = time.Minute

type process struct {
	child *child.Process
	in    io.WriteCloser
	out   *json.Decoder
	said  *child.Tail // on standard error
	hello hello
}

func start(ctx context.Context, exe string) (*process, error) {
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), workerEnv+"=1")
	p := &process{said: &child.Tail{Most: 1 << 14}}
	cmd.Stderr = p.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("offload: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("offload: %w", err)
	}
	p.in, p.out = in, json.NewDecoder(bufio.NewReader(out))
	if p.child, err = child.Start(cmd); err != nil {
		return nil, fmt.Errorf("offload: cannot start %s: %w", exe, err)
	}
	late := time.AfterFunc(offloadPatience, p.child.Kill)
	defer late.Stop()
	defer context.AfterFunc(ctx, p.child.Kill)()
	if err := p.out.Decode(&p.hello); err != nil || p.hello.Protocol == 0 {
		p.child.Kill()
		return nil, fmt.Errorf("offload: %s does not say that it simulates: %s", exe, p.fate(err))
	}
	return p, nil
}

func (p *process) fate(err error) string {
	if words := child.LastWords(p.said.String()); words != "" {
		return words
	}
	if ended := p.child.Err(); ended != nil {
		return ended.Error()
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ended without a word"
	}
	return err.Error()
}

// ask sends a request and returns the reply. An error means that the process is gone or
// unusable; it is then killed.
func (p *process) ask(ctx context.Context, r offloadRequest) (a reply, err error) {
	defer context.AfterFunc(ctx, p.child.Kill)()
	text, err := json.Marshal(r)
	if err != nil {
		return a, fmt.Errorf("offload: %w", err)
	}
	_, err = p.in.Write(append(text, '\n'))
	if err == nil {
		err = p.out.Decode(&a)
	}
	if err != nil {
		p.child.Kill()
		if ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		return a, fmt.Errorf("offload: the process that simulates ended: %s", p.fate(err))
	}
	return a, nil
}

func (p *process) close() {
	p.in.Close() // the process then ends; an error means that it has ended already
	p.child.Kill()
}
