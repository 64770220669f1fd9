// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"crypto/rand"
	"io"
	"net"
	"os"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// tokenVariable is the environment variable that may have the token.
const tokenVariable = "VARVE_TOKEN"

// access is who may read.
type access struct {
	token string // "" if none is needed
	made  bool   // by this command
	hosts []string
}

// access returns who may read what is served at a listener.
func (f *serveFlags) access(l *listener) (*access, error) {
	who := &access{hosts: append([]string(nil), f.hosts...)}
	token, from, err := f.givenToken()
	switch {
	case err != nil:
		return nil, err
	case from != "" && f.public:
		return nil, failure.BadUsage("--public needs no token, but %s has one: leave one of them out", from)
	case from != "":
		who.token = token
	case l.socket == "" && !l.loopback && !f.public:
		who.token, who.made = rand.Text(), true
	}
	switch host, _, err := net.SplitHostPort(f.listen); {
	case l.socket != "" || err != nil:
	case l.wildcard:
		who.hosts = append(who.hosts, ownHosts()...)
	default:
		who.hosts = append(who.hosts, host, l.Addr().(*net.TCPAddr).IP.String())
	}
	return who, nil
}

// ownHosts returns the name and the addresses of this machine. Other names may have been
// pointed at it by the owner of a web page.
func ownHosts() (hosts []string) {
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	addresses, _ := net.InterfaceAddrs() // --host names what is missing
	for _, a := range addresses {
		if n, is := a.(*net.IPNet); is {
			hosts = append(hosts, n.IP.String())
		}
	}
	return hosts
}

// longestToken bounds the file of a token, in bytes.
const longestToken = 4096

// givenToken returns the token that the user has given, and where.
func (f *serveFlags) givenToken() (token, from string, err error) {
	switch {
	case f.token != "":
		token, from = f.token, "--token"
	case f.tokenFile != "":
		from = "--token-file " + phrase.Word(f.tokenFile)
		if token, err = readToken(f.tokenFile); err != nil {
			return "", "", failure.BadArgument("--token-file: %w", err)
		}
	case os.Getenv(tokenVariable) != "":
		token, from = os.Getenv(tokenVariable), "the variable "+tokenVariable
	default:
		return "", "", nil
	}
	visible := func(r rune) bool { return r > ' ' && r < 0x7f }
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return !visible(r) }) {
		return "", "", failure.BadArgument("%s: a token has letters, digits and signs of ASCII, without spaces; openssl rand -hex 16 makes one", from)
	}
	return token, from, nil
}

func readToken(file string) (string, error) {
	r, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, longestToken+1))
	if err == nil && len(text) > longestToken {
		err = failure.BadArgument("%s is longer than a token", file)
	}
	return strings.TrimSpace(string(text)), err
}
