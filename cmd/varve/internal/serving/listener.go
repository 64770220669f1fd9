// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// listener is where the server listens.
type listener struct {
	net.Listener
	socket   string // the path of a socket of this machine, or ""
	loopback bool   // every user of this machine can connect, and nobody else
	wildcard bool   // of all addresses of this machine
	room     chan struct{}
	closed   chan struct{}
	end      func() error
}

// mostConnections bounds the connections, of which most are idle.
const mostConnections = 4096

// socketPrefix begins the value of --listen for a socket.
const socketPrefix = "unix:"

// windowsInUse is the error of Windows for a port in use. Package syscall has no name
// for it.
const windowsInUse = syscall.Errno(10048)

// listen listens at the address of --listen.
func listen(ctx context.Context, address string) (*listener, error) {
	l := &listener{room: make(chan struct{}, mostConnections), closed: make(chan struct{})}
	if path, is := strings.CutPrefix(address, socketPrefix); is {
		s, err := listenSocket(ctx, path)
		if err != nil {
			return nil, err
		}
		l.Listener, l.socket = s, path
	} else {
		host, port, err := net.SplitHostPort(address)
		if err != nil || port == "" {
			return nil, failure.BadUsage("--listen %q: give an address with a port, such as 127.0.0.1:8000, or unix:PATH", address)
		}
		network := "tcp"
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			network = "tcp4" // net would listen at all addresses of both kinds
		}
		tcp, err := new(net.ListenConfig).Listen(ctx, network, address)
		switch {
		case errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsInUse):
			return nil, failure.BadArgument("--listen %s: another program listens at this port; give another one, or --listen %s for any that is free",
				phrase.Word(address), phrase.Word(net.JoinHostPort(host, "0")))
		case err != nil:
			return nil, failure.BadArgument("--listen %s: %w; give an address of this machine, such as 127.0.0.1:8000", phrase.Word(address), err)
		}
		ip := tcp.Addr().(*net.TCPAddr).IP
		l.Listener, l.loopback, l.wildcard = tcp, ip.IsLoopback(), ip.IsUnspecified()
	}
	l.end = sync.OnceValue(func() error {
		close(l.closed)
		return l.Listener.Close()
	})
	return l, nil
}

// Close implements [net.Listener]. It may be called again.
func (l *listener) Close() error { return l.end() }

// Accept implements [net.Listener]. It waits while there are too many connections.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &connection{c, sync.OnceFunc(func() { <-l.room })}, nil
}

// connection makes room for another one when it is closed.
type connection struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// shown returns the address for the first line.
func (l *listener) shown(secure bool) string {
	if l.socket != "" {
		return socketPrefix + l.socket
	}
	return l.base(secure)
}

// base returns the address for links: one that programs can open.
func (l *listener) base(secure bool) string {
	host := "localhost"
	if l.socket == "" {
		host = l.Addr().String()
	}
	if name, err := os.Hostname(); l.wildcard && err == nil {
		_, port, _ := net.SplitHostPort(host)
		host = net.JoinHostPort(name, port)
	}
	return scheme(secure) + host + "/"
}

func scheme(secure bool) string {
	if secure {
		return "https://"
	}
	return "http://"
}
