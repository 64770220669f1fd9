// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// licence is the first line of every file that is not generated. A blank line follows it,
// so that it is no part of the package's documentation.
const licence = "// SPDX-License-Identifier: Apache-2.0\n"

// TestLicence checks that every file of Go begins with its licence: VARVE_UPDATE=1 go
// test -run TestLicence . adds the line, also to scripts.
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

// comments are the beginnings of a line of comment in the other languages of the
// repository, by the extension of the file. Files of foreign and generated code are left
// out: testdata, node_modules, vendor, and what says so in its first line.
var comments = map[string]string{".py": "# ", ".js": "// ", ".ts": "// ", ".tsx": "// ", ".rs": "// ", ".s": "// "}

const identifier = "SPDX-License-Identifier: Apache-2.0\n\n"

// TestLicenceOfScripts checks the licence of files in other languages. In a script it
// follows the line that names the interpreter.
func TestLicenceOfScripts(t *testing.T) {
	found := 0
	err := filepath.WalkDir(Root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := e.Name(); {
		case e.IsDir() && (name == ".git" || name == "testdata" || name == "node_modules" || name == "vendor" || name == "target" || name == "build"):
			return fs.SkipDir
		case !e.Type().IsRegular(), filepath.Ext(name) == ".go":
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		first, rest, _ := bytes.Cut(source, []byte("\n"))
		begin := comments[filepath.Ext(path)]
		switch {
		case bytes.HasPrefix(first, []byte("#!")):
			begin = "# "
		case begin == "", bytes.Contains(first, []byte("Code generated")):
			return nil
		default:
			first, rest = nil, source
		}
		found++
		if bytes.HasPrefix(rest, []byte(begin+identifier)) {
			return nil
		}
		if os.Getenv("VARVE_UPDATE") == "" {
			t.Errorf("%s lacks %q at its beginning", path, begin+identifier)
			return nil
		}
		if first != nil {
			first = append(bytes.Clone(first), '\n')
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(path, append(append(first, begin+identifier...), rest...), info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("only %d scripts were found", found)
	}
}
