// SPDX-License-Identifier: Apache-2.0

// Package localfile reads and writes files other than nodes: streams that may never
// end, outputs that appear atomically, and temporary files.
package localfile

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/vfs"
)

// Replace writes a file through a temporary file beside it, so that other programs never
// read a part of it. A device or a pipe is written directly.
func Replace(name string, write func(w *bufio.Writer) error) (err error) {
	if !isRegular(name) {
		if err := notInNode(name); err != nil {
			return err
		}
		return writeThrough(name, write) // a rename would replace the device or pipe
	}
	return ReplaceFile(name, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<20)
		return cmp.Or(write(w), w.Flush())
	})
}

// isRegular reports whether a file is regular, or new.
func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err != nil || info.Mode().IsRegular()
}

// ReplaceFile is [Replace] for formats that are not written in order. It refuses devices
// and pipes.
func ReplaceFile(name string, write func(f *os.File) error) (err error) {
	if err := notInNode(name); err != nil {
		return err
	}
	if !isRegular(name) {
		return failure.BadArgument("write %s: it is a device or a pipe, and this format is not written in order: give the name of a file", name)
	}
	// The error of CreateTemp would name a file that the user does not know.
	if folder := filepath.Dir(name); !node.Exists(folder) {
		return failure.NotFound("write %s: there is no folder %s", name, folder)
	}
	// Beside the target: a rename is atomic only within one file system. A crash before
	// the rename leaves this hidden file and the old content.
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if errors.Is(err, fs.ErrPermission) {
		return failure.OfKind(fs.ErrPermission, "write %s: no permission to write to its folder", name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	// CreateTemp permits only the owner to read. All calls are made, also after an error,
	// so the file is always closed.
	if err = cmp.Or(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// notInNode returns an error for a file in the directory of a node or below. It could
// replace a document or a chunk, or be mistaken for one.
func notInNode(name string) error {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil // the missing folder is reported elsewhere
	}
	for ; ; dir = filepath.Dir(dir) {
		if hasDocument(dir) {
			return failure.BadArgument("write %s: %s is a Zarr node, and the file would be in it; write it elsewhere", name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func writeThrough(name string, write func(w *bufio.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	return cmp.Or(write(w), w.Flush(), f.Close())
}

// MaxText bounds the bytes of text that are read.
const MaxText = 1 << 30

// ReadAll returns the content of a file, or of standard input for "-".
func ReadAll(cmd *cobra.Command, name string) ([]byte, error) {
	var r io.Reader = Patient(cmd.Context(), cmd.InOrStdin())
	if name != "-" {
		f, err := Open(cmd.Context(), name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = Patient(cmd.Context(), f)
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err == nil && len(data) > MaxText {
		err = fmt.Errorf("%w: %s has more than %s", zarr.ErrLimit, name, phrase.Bytes(MaxText))
	}
	return data, err
}

// hasDocument reports whether a folder has a metadata document.
func hasDocument(dir string) bool {
	return slices.ContainsFunc([]string{nodename.V3Node, nodename.V2Array, nodename.V2Group}, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

// patientBytes is the number of bytes that are read at a time.
const patientBytes = 256 << 10

// patient reads a stream that may be silent for ever. It gives up when its context ends.
// A read cannot be cancelled, so another goroutine waits for it.
type patient struct {
	ctx context.Context
	r   io.Reader

	buffer   []byte
	unread   []byte // read but not returned yet
	err      error  // returned after rest
	arrivals chan taken
}

// taken is the result of one read.
type taken struct {
	n   int
	err error
}

// Patient returns a reader of r that stops when the context ends.
func Patient(ctx context.Context, r io.Reader) *patient { return &patient{ctx: ctx, r: r} }

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if len(p.unread) == 0 && p.err == nil && len(b) > 0 {
		if err := p.wait(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.unread)
	p.unread = p.unread[n:]
	if len(p.unread) == 0 && n == 0 {
		return 0, p.err
	}
	return n, nil
}

// wait reads the next bytes. After a cancelled wait the pending read still owns the
// buffer.
func (p *patient) wait() error {
	if p.buffer == nil {
		p.buffer, p.arrivals = make([]byte, patientBytes), make(chan taken, 1)
	}
	go func() {
		n, err := p.r.Read(p.buffer)
		p.arrivals <- taken{n, err}
	}()
	select {
	case t := <-p.arrivals:
		p.unread, p.err = p.buffer[:t.n], t.err
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// Open opens a file. It stops when the context ends, because opening a named pipe
// blocks until there is a writer.
func Open(ctx context.Context, name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		session.ReadOnce(ctx, name)
	}
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return os.Open(name)
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.Open(name)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.f, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// SpoolMemory is the number of bytes that a [Spool] keeps in memory.
const SpoolMemory = 16 << 20

// Spool stores the bytes written to it: the first [SpoolMemory] bytes in memory, and
// the rest in a temporary file.
type Spool struct {
	memory []byte
	file   *os.File // nil while memory suffices
	length int64    // of the file
}

// Write implements [io.Writer].
func (s *Spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.memory)+len(p) <= SpoolMemory {
		s.memory = append(s.memory, p...)
		return len(p), nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "varve-*")
		if err != nil {
			return 0, err
		}
		s.file = f
	}
	n, err := s.file.Write(p)
	s.length += int64(n)
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (s *Spool) ReadAt(p []byte, at int64) (n int, err error) {
	held := int64(len(s.memory))
	if at < held {
		n = copy(p, s.memory[at:])
	}
	if n == len(p) {
		return n, nil
	}
	if s.file == nil {
		return n, io.EOF
	}
	m, err := s.file.ReadAt(p[n:], at+int64(n)-held)
	return n + m, err
}

// Reader returns a reader of everything that was written.
func (s *Spool) Reader() *io.SectionReader {
	return io.NewSectionReader(s, 0, int64(len(s.memory))+s.length)
}

// Close removes the temporary file.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

// FreeBytes returns the free bytes in the file system of a directory, which need not
// exist yet. It returns false if the number is unknown.
func FreeBytes(dir string) (int64, bool) {
	// A missing directory will be in the file system of the nearest existing one.
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, _, ok := vfs.Room(dir)
	return free, ok
}
