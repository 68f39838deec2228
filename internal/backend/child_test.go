//go:build linux || darwin || freebsd

package backend

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Kill ends a child that is stopped, and its children.
func TestChildKill(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = in
	c, err := StartChild(cmd)
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Kill()
	if n, err := out.Read(make([]byte, 16)); n == 0 || err != nil {
		t.Fatalf("the child says nothing: %v", err)
	}
	if err := unix.Kill(c.PID(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
		t.Fatal("Done is closed while the child lives")
	default:
	}
	c.Kill()
	select {
	case <-c.Done():
	default:
		t.Error("after Kill Done is open")
	}
	out.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(out); err != nil { // ends when no process can write any more
		t.Errorf("a child of the child lives on: %v", err)
	}
	c.Kill()
}

func TestChildCannotStart(t *testing.T) {
	if _, err := StartChild(exec.Command("/nonexistent/program")); err == nil {
		t.Error("a program that does not exist is started")
	}
}
