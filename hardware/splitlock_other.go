//go:build !(amd64 && gc && !purego)

package hardware

import "errors"

var splitAccesses []splitAccess

func splitLockAssembly() error {
	return errors.New("hardware: no split lock here: this needs amd64 and assembly (gc, without the tag purego)")
}
