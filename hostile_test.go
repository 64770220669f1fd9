package zarr_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/selection"
)

// hostileCase is a row of the manifest of testdata/hostile.zip: stores made byte by byte to hurt a reader.
type hostileCase struct {
	ID        string
	Path      string
	Kind      string
	Action    string
	Array     string
	Selection [][2]int64
	Expect    string
	Why       string
	MaxMiB    uint64 `json:"max_mib"`
	Shape     []int64
	SHA256    string
	Setup     []struct{ Symlink, Target string }
}

// TestHostile opens and reads every hostile store: what is to be refused ends in an error of a known kind within the bound
// on memory, what only looks bad is read.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	z := openZip(t, "hostile.zip")
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Cases []hostileCase }
	readJSON(t, z, "manifest.json", &manifest)
	refused, accepted, unsupported := 0, 0, 0
	for _, c := range manifest.Cases {
		if c.Kind == "references" {
			continue // no store yet
		}
		t.Run(c.ID, func(t *testing.T) {
			c.prepare(t, dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			sum, err := c.act(dir)
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > c.MaxMiB {
				t.Errorf("%d MiB were allocated, %d are allowed (%s)", used, c.MaxMiB, c.Why)
			}
			switch {
			case errors.Is(err, zarr.ErrUnsupported) && c.Expect == "ok":
				unsupported++
			case c.Expect == "error" && err == nil:
				t.Errorf("accepted, though %s", c.Why)
			case c.Expect == "ok" && err != nil:
				t.Errorf("refused with %v, though %s", err, c.Why)
			case c.Expect == "ok" && c.SHA256 != "" && sum != c.SHA256:
				t.Errorf("other elements were read (%s)", c.Why)
			case err != nil:
				refused++
				checkMessage(t, err)
			default:
				accepted++
			}
		})
	}
	t.Logf("%d stores refused, %d accepted, %d await what is not supported", refused, accepted, unsupported)
	if refused < 445 || accepted < 24 || unsupported > 0 {
		t.Errorf("refused %d, accepted %d, unsupported %d: cases are missing", refused, accepted, unsupported)
	}
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
		if a, err = g.OpenArray(ctx, c.Array, nil); err != nil {
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

// checkMessage expects an error to say in one line of bearable length what was done where.
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
