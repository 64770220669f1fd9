// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// licence is the first line of every file that is not generated. A blank line follows it,
// so that it is no part of the package's documentation.
const licence = "// SPDX-License-Identifier: Apache-2.0\n"

// TestLicence checks that every file begins with its licence: VARVE_UPDATE=1 go test -run
// TestLicence . adds the line.
func TestLicence(t *testing.T) {
	for dir, module := range source(t) {
		for _, f := range module {
			generated := bytes.HasPrefix(f.Source, []byte("// Code generated"))
			if generated || bytes.HasPrefix(f.Source, []byte(licence+"\n")) {
				continue
			}
			name := filepath.Join(dir, f.Path)
			if os.Getenv("VARVE_UPDATE") == "" {
				t.Errorf("%s does not begin with %q and a blank line", name, licence)
				continue
			}
			if err := os.WriteFile(name, append([]byte(licence+"\n"), f.Source...), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}
