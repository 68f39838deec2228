package lab

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"locklab/harness"
)

// shownRE finds the pictures that a Markdown file of the lab shows: each has a
// line of its own.
var shownRE = regexp.MustCompile(`(?m)^!\[.*\]\(<([^<>\n]*)>\)$`)

// shown returns the pictures in the directory beside the Markdown that its file
// shows as it is now, by their paths in it; none if there is no such file.
func (t target) shown() map[string]bool {
	text, err := os.ReadFile(t.markdown)
	if err != nil {
		return nil
	}
	out := make(map[string]bool)
	for _, m := range shownRE.FindAllSubmatch(text, -1) {
		path, err := url.PathUnescape(string(m[1]))
		if folder, name := filepath.Split(filepath.FromSlash(path)); err == nil &&
			folder == t.folder()+string(filepath.Separator) && filepath.Ext(name) == ".png" {
			out[path] = true
		}
	}
	return out
}

// clear removes pictures that an earlier report showed and this one does not.
// What no report showed is not the lab's, and stays.
func (t target) clear(pictures map[string]bool) error {
	for path := range pictures {
		err := os.Remove(filepath.Join(filepath.Dir(t.markdown), filepath.FromSlash(path)))
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("%w: cannot remove a picture of the earlier report: %v", harness.ErrUsage, err)
		}
	}
	return nil
}
