package lab

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
)

// shownRE finds the pictures in a Markdown file of the lab: each is on its own line.
var shownRE = regexp.MustCompile(`(?m)^!\[.*\]\(<([^<>\n]*)>\)$`)

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

// clear removes pictures of an earlier report that this one lacks, and no other files.
func (t target) clear(pictures map[string]bool) error {
	for path := range pictures {
		err := os.Remove(filepath.Join(filepath.Dir(t.markdown), filepath.FromSlash(path)))
		if err != nil && !os.IsNotExist(err) {
			return usage("cannot remove a picture of the earlier report: %v", err)
		}
	}
	return nil
}
