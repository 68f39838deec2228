//go:build !linux

package machine

import (
	"errors"
	"testing"
)

func TestPinThreadUnsupported(t *testing.T) {
	if err := PinThread(0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("PinThread returned %v", err)
	}
}
