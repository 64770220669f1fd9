package zarr_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// hostileCase is a row of the manifest of testdata/hostile.zip: stores made byte by byte
// to hurt a reader.
type hostileCase struct {
	ID        string
	Path      string
	Kind      string
	Action    string
	Array     string
	Selection [][2]int64
	Expect    string
	Why       string
	MaxSecs   float64 `json:"max_seconds"`
	MaxMiB    uint64  `json:"max_mib"`
	Shape     []int64
	SHA256    string
	Setup     []struct{ Symlink, Target string }
}

// patience is how many times longer than the manifest allows a case may take on a machine
// that does other things, too.
const patience = 20

// repaired are cases whose manifest asks for an error, and which are read with a note all
// the same: other programs write them, they can mean one thing only, and decoding does
// not need them.
var repaired = map[string]string{
	"fill_int_null": "null", "fill_bool_null": "null", "fill_string_null": "null", "fill_bool_number": "0 was read as false",
}

// checkRepaired opens a case that is repaired.
func (c *hostileCase) checkRepaired(t *testing.T, dir string) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), filepath.Join(dir, c.Path), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := a.Notes(); len(n) != 1 || !strings.Contains(n[0], repaired[c.ID]) {
		t.Errorf("notes %q", n)
	}
}

// TestHostile opens and reads every hostile store: what is to be refused ends in an error
// of a known kind within the bounds on memory and time, what only looks bad is read.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	z := openZip(t, "hostile.zip")
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Cases []hostileCase }
	readJSON(t, z, "manifest.json", &manifest)
	refused, accepted, left, noted := map[string]int{}, map[string]int{}, 0, 0
	for _, c := range manifest.Cases {
		if c.Kind == "references" {
			left++ // no store yet
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			c.prepare(t, dir)
			sum, err := c.bounded(t, dir)
			if repaired[c.ID] != "" && c.Expect == "error" {
				noted++
				c.checkRepaired(t, dir)
				return
			}
			switch {
			case c.Expect == "error" && err == nil:
				t.Errorf("accepted, though %s", c.Why)
			case c.Expect == "ok" && err != nil:
				t.Errorf("refused with %v, though %s", err, c.Why)
			case c.Expect == "ok" && c.SHA256 != "" && sum != c.SHA256:
				t.Errorf("other elements were read (%s)", c.Why)
			case err != nil:
				refused[c.Kind]++
				checkMessage(t, err)
			default:
				accepted[c.Kind]++
			}
		})
	}
	checkCounts(t, "refused", refused, map[string]int{"array": 389, "group": 26, "zip": 24})
	checkCounts(t, "accepted", accepted, map[string]int{"array": 20, "group": 3, "zip": 2})
	checkCounts(t, "repaired", map[string]int{"array": noted}, map[string]int{"array": len(repaired)})
	checkCounts(t, "left out", map[string]int{"references": left}, map[string]int{"references": 50})
}

func checkCounts(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// bounded acts and measures what that takes.
func (c *hostileCase) bounded(t *testing.T, dir string) (string, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	sum, err := c.act(dir)
	took := time.Since(start).Seconds()
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > c.MaxMiB {
		t.Errorf("%d MiB were allocated, %d are allowed (%s)", used, c.MaxMiB, c.Why)
	}
	if took > patience*c.MaxSecs {
		t.Errorf("took %.1f seconds, %g are allowed (%s)", took, c.MaxSecs, c.Why)
	}
	return sum, err
}

func (c *hostileCase) prepare(t *testing.T, dir string) {
	t.Helper()
	for _, link := range c.Setup {
		at := filepath.Join(dir, c.Path, filepath.FromSlash(link.Symlink))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.FromSlash(link.Target), at); err != nil {
			t.Skip("this system makes no symbolic links")
		}
	}
}

// act does what the case says and returns the digest of what was read.
func (c *hostileCase) act(dir string) (string, error) {
	ctx := context.Background()
	n, err := zarr.Open(ctx, filepath.Join(dir, c.Path), nil)
	if err != nil {
		return "", err
	}
	defer n.Close()
	g, isGroup := n.(*zarr.Group)
	if isGroup && c.Array == "" {
		for m, err := range g.Members(ctx, true) {
			if err != nil {
				return "", err
			}
			if m.Err != nil {
				return "", m.Err
			}
		}
		return "", nil
	}
	a, _ := n.(*zarr.Array)
	if isGroup {
		if a, err = g.At(c.Array).OpenArray(ctx, nil); err != nil {
			return "", err
		}
	}
	if c.Action == "open" {
		return "", nil
	}
	return c.read(ctx, a)
}

func (c *hostileCase) read(ctx context.Context, a *zarr.Array) (string, error) {
	var sel selection.Selection
	if c.Selection != nil {
		sel = selection.Box(c.Selection)
	}
	r, err := a.Select(sel)
	if err != nil {
		return "", err
	}
	if r.Len() > 1<<24 {
		_, err := zarr.Read[uint8](ctx, a, sel)
		return "", fmt.Errorf("%d elements: %w", r.Len(), err)
	}
	data := make([]byte, r.Len()*int64(a.Type().Size()))
	if err := a.ReadBytes(ctx, sel, data); err != nil {
		return "", err
	}
	if !slices.Equal(r.Shape(), c.Shape) && c.Shape != nil {
		return "", fmt.Errorf("shape %v, want %v", r.Shape(), c.Shape)
	}
	if !dtype.LittleEndian() {
		dtype.SwapBytes(data, data, a.Type().Unit())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// checkMessage expects an error to say in one line of bearable length what was done
// where.
func checkMessage(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if strings.Contains(text, "\n") || len(text) > 2000 {
		t.Errorf("the message has %d bytes: %.300q", len(text), text)
	}
	var at *zarr.Error
	if !errors.As(err, &at) {
		t.Errorf("%v is no *zarr.Error", err)
	}
}
