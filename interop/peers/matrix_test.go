// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed refusals.txt
var expected string

// TestMatrix lets every peer write every array, and every peer read the results.
func TestMatrix(t *testing.T) {
	peers := map[string]peer{}
	for _, name := range names {
		if p := start(t, name); p != nil {
			peers[name] = p
		} else if os.Getenv("VARVE_PEERS") == "all" || os.Getenv("CI") == "true" && (name == "zarr-2.18" || name == "zarr-3.4") {
			t.Errorf("%s is not installed; run interop/peers/setup all", name)
		} else {
			t.Logf("%s is left out: interop/peers/setup %s installs it", name, name)
		}
	}
	if len(peers) == 1 {
		t.Skip("no other implementation is installed; run interop/peers/setup")
	}
	m := &matrix{found: map[entry]string{}, read: map[[2]string]int{}, wrote: map[string]int{}}
	all := cases()
	slices.SortFunc(all, func(a, b array) int { return strings.Compare(a.name, b.name) })
	dir := t.TempDir()
	for _, a := range all {
		for _, writer := range slices.Sorted(maps.Keys(peers)) {
			m.try(t, peers, writer, a, filepath.Join(dir, writer+"-"+a.name+".zarr"))
		}
	}
	if os.Getenv("VARVE_PEERS_UPDATE") != "" {
		m.update(t, len(all), peers)
		return
	}
	m.compare(t, peers, len(all))
}

// entry is a refusal by a reader, or by a writer if reader is "".
type entry struct{ reader, writer, name string }

// matrix is the results.
type matrix struct {
	found map[entry]string // refusals and their reasons
	read  map[[2]string]int
	wrote map[string]int
}

// try lets one writer write an array, and all peers read it.
func (m *matrix) try(t *testing.T, peers map[string]peer, writer string, a array, path string) {
	t.Helper()
	at, err := peers[writer].write(t, a, path)
	if err != nil {
		m.found[entry{"", writer, a.name}] = reason(err, path)
		return
	}
	m.wrote[writer]++
	for _, reader := range slices.Sorted(maps.Keys(peers)) {
		got, err := peers[reader].read(t, a, at)
		switch {
		case err != nil:
			m.found[entry{reader, writer, a.name}] = reason(err, path)
		case !same(got, a.whole):
			m.found[entry{reader, writer, a.name}] = "OTHER ELEMENTS"
			t.Logf("%s reads of %s, %s:\n%.300v\nwant\n%.300v", reader, writer, a.name, got, a.whole)
		default:
			m.read[[2]string{writer, reader}]++
		}
	}
}

// reason returns the first line of an error, without paths.
func reason(err error, path string) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = strings.ReplaceAll(strings.ReplaceAll(text, path, "PATH"), filepath.Dir(path), "DIR")
	return strings.TrimSpace(fmt.Sprintf("%.100s", text))
}

// parseRefusals parses lines "writes WRITER CASE: why" and "reads READER WRITER CASE:
// why". The writer of the latter may be "*": then the reader refuses the array of every
// writer.
func parseRefusals(t *testing.T, text string) map[entry]string {
	t.Helper()
	all := map[entry]string{}
	for line := range strings.Lines(text) {
		what, why, _ := strings.Cut(strings.TrimSpace(line), ": ")
		f := strings.Fields(what)
		switch {
		case len(f) == 0 || f[0][0] == '#':
		case len(f) == 3 && f[0] == "writes":
			all[entry{"", f[1], f[2]}] = why
		case len(f) == 4 && f[0] == "reads":
			all[entry{f[1], f[2], f[3]}] = why
		default:
			t.Errorf("refusals.txt: a line %q", line)
		}
	}
	return all
}

// TestChecksumsOfZstd looks in refusals.txt for arrays of format 3 with zstd: whoever
// reads and writes them without its checksum does so with it, so that it can be the
// default.
func TestChecksumsOfZstd(t *testing.T) {
	with := map[string]string{"v3-codec-zstd": "", "v3-shard-zstd": "", "v3-type-string-zstd": ""}
	for name := range with {
		with[name] = name + "-checksum"
	}
	listed, pairs := parseRefusals(t, expected), 0
	for e := range listed {
		if name, ok := with[e.name]; ok {
			pairs++
			_, also := listed[entry{e.reader, e.writer, name}]
			if !also {
				t.Errorf("%v is refused without a checksum only", e)
			}
		}
		without, ok := strings.CutSuffix(e.name, "-checksum")
		if _, known := with[without]; !ok || !known {
			continue
		}
		if _, also := listed[entry{e.reader, e.writer, without}]; !also {
			t.Errorf("%v is refused with a checksum only", e)
		}
	}
	if pairs == 0 {
		t.Error("refusals.txt has none of these arrays")
	}
}

// compare compares the results with refusals.txt, both ways.
func (m *matrix) compare(t *testing.T, peers map[string]peer, cases int) {
	t.Helper()
	listed := parseRefusals(t, expected)
	for e, why := range m.found {
		_, one := listed[e]
		_, all := listed[entry{e.reader, "*", e.name}]
		if !one && !(all && e.reader != "") {
			t.Errorf("%v is refused but not in refusals.txt: %s", e, why)
		}
	}
	for e := range listed {
		for _, writer := range slices.Sorted(maps.Keys(peers)) {
			if e.writer != "*" && e.writer != writer || e.reader != "" && peers[e.reader] == nil {
				continue
			}
			_, refused := m.found[entry{e.reader, writer, e.name}]
			_, unwritten := m.found[entry{"", writer, e.name}]
			if !refused && !(e.reader != "" && unwritten) {
				t.Errorf("%v of %s succeeds but is in refusals.txt", e, writer)
			}
		}
	}
	for name := range peers {
		if m.wrote[name] == 0 {
			t.Errorf("%s wrote none of %d arrays", name, cases)
		}
	}
}

// update writes refusals.txt and RESULTS.md.
func (m *matrix) update(t *testing.T, cases int, peers map[string]peer) {
	t.Helper()
	lines := map[string]bool{}
	for e, why := range m.found {
		switch {
		case e.reader == "":
			lines[fmt.Sprintf("writes %s %s: %s", e.writer, e.name, why)] = true
		case m.everywhereSame(peers, e):
			lines[fmt.Sprintf("reads %s * %s: ", e.reader, e.name)+m.anyReason(peers, e)] = true
		default:
			lines[fmt.Sprintf("reads %s %s %s: %s", e.reader, e.writer, e.name, why)] = true
		}
	}
	var b bytes.Buffer
	b.WriteString("# Who refuses what, and why, in the words of the one who refuses. The matrix of peers checks it both ways.\n" +
		"# \"writes WRITER ARRAY\" and \"reads READER WRITER ARRAY\"; the writer * stands for all who write the array.\n")
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(line + "\n")
	}
	check(t, os.WriteFile("refusals.txt", b.Bytes(), 0o666))
	check(t, os.WriteFile("RESULTS.md", []byte(m.table(cases, peers)), 0o666))
}

// everywhereSame reports whether a reader refuses an array of every writer.
func (m *matrix) everywhereSame(peers map[string]peer, e entry) bool {
	for writer := range peers {
		_, unwritten := m.found[entry{"", writer, e.name}]
		if _, refused := m.found[entry{e.reader, writer, e.name}]; !refused && !unwritten {
			return false
		}
	}
	return true
}

// anyReason returns the reason why a reader refuses the array of the first writer.
func (m *matrix) anyReason(peers map[string]peer, e entry) string {
	for _, writer := range slices.Sorted(maps.Keys(peers)) {
		if why, found := m.found[entry{e.reader, writer, e.name}]; found {
			return why
		}
	}
	return ""
}

// table returns the page of results.
func (m *matrix) table(cases int, peers map[string]peer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Who reads what others write\n\nMeasured on %s with the versions that `setup` pins. There are %d arrays. The second\ncolumn has how many of them "+
		"each implementation writes, the others how many of these the reader reads,\nelement by element the same. Who refuses what, and why, is in "+
		"[refusals.txt](refusals.txt).\n\n| writer | arrays |", time.Now().Format(time.DateOnly), cases)
	var readers []string
	for _, name := range names {
		if peers[name] != nil {
			readers = append(readers, name)
		}
	}
	fmt.Fprintf(&b, " %s |\n|---|--:|%s\n", strings.Join(readers, " | "), strings.Repeat("--:|", len(readers)))
	for _, writer := range readers {
		fmt.Fprintf(&b, "| %s | %d |", writer, m.wrote[writer])
		for _, reader := range readers {
			fmt.Fprintf(&b, " %d |", m.read[[2]string{writer, reader}])
		}
		b.WriteString("\n")
	}
	return b.String()
}
