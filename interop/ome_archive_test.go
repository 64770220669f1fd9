// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// omeArchive writes an archive of OME-Zarr with levels, or validates one against the
// schemas of OME-Zarr and prints the sum of its elements.
const omeArchive = `
import sys, numpy, ngff_zarr
action, path = sys.argv[1:]
if action == "write":
    image = ngff_zarr.to_ngff_image(numpy.arange(64 * 96, dtype="u2").reshape(64, 96), dims=["y", "x"])
    ngff_zarr.to_ngff_zarr(path, ngff_zarr.to_multiscales(image, scale_factors=[2]), version="0.5")
else:
    images = ngff_zarr.from_ngff_zarr(path, validate=True, version="0.5").images
    print(len(images), images[0].data.sum().compute())
`

// TestOMEArchive copies an archive of OME-Zarr (RFC-9) that ngff-zarr has written to a
// folder and back to another archive, which ngff-zarr validates and reads.
func TestOMEArchive(t *testing.T) {
	python, dir := interpreter(t), t.TempDir()
	run := func(action, path string) string {
		out, err := exec.Command(python, "-W", "ignore", "-c", omeArchive, action, path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", action, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	theirs, folder, ours := filepath.Join(dir, "theirs.ozx"), filepath.Join(dir, "image.zarr"), filepath.Join(dir, "ours.ozx")
	run("write", theirs)
	for _, pair := range [][2]string{{theirs, folder}, {folder, ours}} {
		src, err := zarr.Locate(t.Context(), pair[0], store.ReadOnly)
		check(t, err)
		dst, err := zarr.Locate(t.Context(), pair[1], store.Create)
		check(t, err)
		_, err = transfer.Copy(t.Context(), src, dst, nil)
		check(t, err)
		check(t, store.Close(dst.Store()))
		check(t, store.Close(src.Store()))
	}
	var comments [2]string
	for i, name := range []string{theirs, ours} {
		z, err := zip.OpenReader(name)
		check(t, err)
		comments[i] = strings.ReplaceAll(z.Comment, " ", "")
		check(t, z.Close())
	}
	if comments[0] != comments[1] {
		t.Errorf("comments are %q", comments)
	}
	if got, want := run("read", ours), run("read", theirs); got != want || !strings.HasPrefix(got, "2 ") {
		t.Errorf("ngff-zarr reads %q, want %q", got, want)
	}
}
