// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path"
	"path/filepath"
)

// completions are the places of the completion scripts below share/, where the Debian and
// RPM packages have them too.
var completions = []struct{ script, place string }{
	{"varve.bash", "bash-completion/completions/varve"},
	{"_varve", "zsh/site-functions/_varve"},
	{"varve.fish", "fish/vendor_completions.d/varve.fish"},
}

// sharedFiles returns the files below share/, from a folder that .ci/extras wrote.
func sharedFiles(extras string) ([]file, error) {
	var files []file
	for _, c := range completions {
		data, err := os.ReadFile(filepath.Join(extras, "completions", c.script))
		if err != nil {
			return nil, err
		}
		files = append(files, file{c.place, data})
	}
	for _, section := range []string{"man1", "man7"} {
		pages, err := os.ReadDir(filepath.Join(extras, "man", section))
		if err != nil {
			return nil, err
		}
		for _, page := range pages {
			data, err := os.ReadFile(filepath.Join(extras, "man", section, page.Name()))
			if err != nil {
				return nil, err
			}
			files = append(files, file{path.Join("man", section, page.Name()), data})
		}
	}
	return files, nil
}
