// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// socket is a listener whose file is removed at the end.
type socket struct {
	net.Listener
	end func() error
}

// Close implements [net.Listener].
func (s *socket) Close() error { return s.end() }

// longestSocket is the longest path that a socket may have on all systems, in bytes.
const longestSocket = 103

// listenSocket makes a socket that only this user can connect to:
//
//  1. It is made in a new folder that only this user can enter.
//  2. It gets the mode 0600.
//  3. It is renamed, so that it is never at its path with another mode. This replaces the
//     socket of a server that does not run any more.
//
// A crash before 3 leaves the folder, which begins with ".varve-".
func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	if path == "" {
		return nil, failure.BadUsage("--listen unix: needs the path of a socket, as in unix:varve.sock")
	}
	if err := checkVacant(ctx, path); err != nil {
		return nil, err
	}
	l, info, err := moveSocket(path)
	if err != nil {
		return nil, failure.BadArgument("--listen unix:%s: %w", phrase.Word(path), err)
	}
	return &socket{l, sync.OnceValue(func() error {
		err := l.Close()
		// Another server may have taken the path meanwhile.
		if now, statErr := os.Lstat(path); statErr == nil && os.SameFile(info, now) {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	})}, nil
}

// moveSocket makes a socket elsewhere and renames it.
func moveSocket(path string) (l *net.UnixListener, info fs.FileInfo, err error) {
	private, err := os.MkdirTemp(filepath.Dir(path), ".varve-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(private)) }()
	name := filepath.Join(private, "s")
	if len(name) > longestSocket {
		return nil, nil, failure.BadArgument("the folder has a path of %s, which is too long for sockets: give a shorter one", phrase.Plural(int64(len(filepath.Dir(path))), "byte"))
	}
	if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"}); err != nil {
		return nil, nil, err
	}
	l.SetUnlinkOnClose(false) // it would remove the name that it was made with
	if err = os.Chmod(name, 0o600); err == nil {
		err = os.Rename(name, path)
	}
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err != nil {
		_ = os.Remove(name)
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, info, nil
}

// windowsRefused is the error of Windows for a socket without a server.
const windowsRefused = syscall.Errno(10061)

// checkVacant returns an error if something is at a path, other than the socket of a
// server that does not run any more.
func checkVacant(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failure.BadArgument("--listen unix:%s: %w", phrase.Word(path), err)
	case info.Mode().Type() != fs.ModeSocket:
		return failure.BadArgument("--listen unix:%s: there is something that is no socket; give another path", phrase.Word(path))
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close() // nothing was sent
		return failure.BadArgument("--listen unix:%s: another server listens there; end it, or give another path", phrase.Word(path))
	}
	if !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, windowsRefused) {
		return failure.BadArgument("--listen unix:%s: %w; give another path", phrase.Word(path), err)
	}
	return nil
}
