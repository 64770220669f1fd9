// SPDX-License-Identifier: Apache-2.0

package virtualizing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
	"varve.dev/zarr/virtual"
)

// intoRepository makes the files virtual chunks of a repository of Icechunk. The manifest
// is only in memory, and copies of padded chunks are in a temporary folder until the
// repository has them.
func (f *virtualizeFlags) intoRepository(cmd *cobra.Command, files []string) (err error) {
	defer func() { err = failure.On("virtualize", f.out, err) }()
	// A file that is modified after the scan is not the one that is referenced.
	ctx := icechunk.WithReferences(cmd.Context())
	if err := f.checkVacant(cmd, ctx); err != nil { // scanning may take long
		return err
	}
	dir, err := os.MkdirTemp("", "varve-references-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	location := filepath.Join(dir, "references"+virtual.Suffix)
	at, root, err := store.OpenPlain(ctx, dir, store.ReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(at)) }()
	c, err := virtual.NewCollector(location)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Concurrency, c.Without = f.atOnce, f.without
	path, err := root.Join(filepath.Base(location))
	if err != nil {
		return err
	}
	r := virtualized{Path: f.out, DryRun: f.dry, Arrays: []virtualizedArray{}, Left: []virtualizedRefuse{}, Notes: []string{}}
	m, err := f.collect(cmd, c, at, path, files, &r)
	if err == nil && len(m.Arrays) == 0 {
		err = r.empty()
	}
	if err == nil {
		err = r.checkWhole(m)
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		ctx = virtual.WithAllowed(ctx, file) // the user has named it
	}
	shown, err := m.Show(ctx, location)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(shown)) }()
	if err := f.store(ctx, cmd, zarr.At(shown, ""), &r); err != nil {
		return err
	}
	r.describe(m)
	sources := slices.DeleteFunc(slices.Clone(m.Sources), isCopied)
	if name := node.Clean(files[0]); len(files) == 1 && (strings.HasSuffix(name, virtual.Suffix) || strings.HasSuffix(name, kerchunk.Suffix)) {
		led := map[string]bool{} // to which the references lead; blocks of them repeat it
		for _, s := range sources {
			led[s.Location] = true
		}
		r.Files = len(led)
	}
	if text := permissionText(f.out, location, sources); text != "" {
		r.note("%s", text)
	}
	return r.show(cmd)
}

// isCopied reports whether a source lies in a manifest. The repository copies its bytes.
func isCopied(s virtual.Source) bool {
	return strings.HasPrefix(s.Location, "data/") || strings.Contains(s.Location, virtual.Suffix+"/data/")
}

// permissionText says what readers of the references need. The folders are absolute, so
// that the flags mean the same wherever a command runs.
func permissionText(out, manifest string, sources []virtual.Source) string {
	var folders []string
	isLocal := false
	for _, s := range sources {
		name := strings.TrimPrefix(s.Location, "file://")
		if !strings.Contains(name, "://") {
			if !filepath.IsAbs(name) { // relative to the manifest
				name = filepath.ToSlash(filepath.Join(manifest, filepath.FromSlash(name)))
			}
			isLocal = true
		}
		if at := name[:max(1, strings.LastIndexAny(name, `/\`))]; !slices.Contains(folders, at) {
			folders = append(folders, at)
		}
	}
	if len(folders) == 0 {
		return ""
	}
	text := "to read the chunks, give every command " + allowText(folders)
	if isLocal && !strings.HasPrefix(out, "icechunk+file:") {
		text += "; files of this machine are read for repositories on this machine only, and this one is elsewhere"
	}
	if repository, _, _, err := icechunk.ParseLocation(out); err == nil {
		text += fmt.Sprintf("; readers in Python need varve icechunk container %s %s, once", phrase.Word(session.WithoutSecrets(repository)), phrase.Word(folders[0]))
	}
	return text
}

// checkVacant returns an error if there is a node at the place of the new one. With
// --overwrite it asks before a group is replaced. The history keeps what was there.
func (f *virtualizeFlags) checkVacant(cmd *cobra.Command, ctx context.Context) error {
	if f.overwrite {
		if f.yes || f.dry {
			return nil
		}
		return place.ConfirmReplacement(cmd, f.out, false, func() error { return nil })
	}
	at, err := place.Locate(ctx, f.out, store.ReadOnly)
	if err != nil {
		return err
	}
	_, err = at.Open(ctx, nil)
	if closed := place.Close(at, true); closed != nil {
		return closed
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return failure.BadArgument("there is a node already: --overwrite replaces it in one commit, or choose another path in the repository")
}

// store stores the hierarchy. Arrays whose codecs are in an order that most programs
// cannot read are encoded anew; of all others the repository has references.
func (f *virtualizeFlags) store(ctx context.Context, cmd *cobra.Command, src *zarr.Location, r *virtualized) error {
	dst, err := place.New(cmd, f.out, f.dry)
	if err != nil {
		return err
	}
	anew := map[string]string{}
	opt := &transfer.Options{Options: *session.Reading(cmd), DryRun: f.dry, Overwrite: f.overwrite}
	_, err = convert.Derive(ctx, src, dst, convert.Derivation{Anew: func(path, reason string) { anew[path] = reason }}, opt)
	for _, path := range slices.Sorted(maps.Keys(anew)) {
		r.note("%s is encoded anew, because %s", path, anew[path])
	}
	return errors.Join(err, place.Close(dst, err == nil))
}

// checkWhole returns an error for arrays that cannot be in a repository. A commit leaves
// out nothing that the user has not named.
func (r *virtualized) checkWhole(m *virtual.Manifest) error {
	for _, x := range r.Left {
		if x.Array {
			return failure.Unsupported("%s of %s cannot be taken: %s; --without %s leaves it out", x.Path, x.File, x.Reason, phrase.Word(x.Path))
		}
	}
	for _, a := range m.Arrays {
		reason := ""
		for i := range a.Grid.Rank() {
			if a.Grid.Axis(i).IsEncoded() {
				reason = "chunks that are longer than their edges, which no reader of repositories knows: give " + remedy.CopyPadded
			}
		}
		if name := strange(a.Document.Codecs); name != "" {
			reason = fmt.Sprintf("the codec %q, which zarr-python does not read", name)
		}
		if reason != "" {
			return failure.Unsupported("%s has %s; --without %s leaves it out", a.Path, reason, phrase.Word(a.Path))
		}
	}
	return nil
}

// strange returns the name of a codec that zarr-python has neither itself nor from
// numcodecs and imagecodecs, or "".
func strange(chain []metadata.Extension) string {
	known := []string{"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed", "vlen-utf8", "vlen-bytes"}
	for _, e := range chain {
		if !slices.Contains(known, e.Name) && !strings.HasPrefix(e.Name, "numcodecs.") && !strings.HasPrefix(e.Name, "imagecodecs_") {
			return e.Name
		}
	}
	return ""
}

// Reference makes a file or a node virtual chunks of a repository of Icechunk.
func Reference(cmd *cobra.Command, from, to string, dry, overwrite, yes bool) error {
	f := &virtualizeFlags{out: to, dry: dry, overwrite: overwrite, yes: yes}
	return f.intoRepository(cmd, []string{from})
}
