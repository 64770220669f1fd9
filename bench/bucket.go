// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/s3"
)

// bucketName is the name of the only bucket. Everybody may read it, because one candidate
// and the limit do not sign their requests.
const bucketName = "varve-bench"

// account is what all candidates find in their environment.
var account = map[string]string{
	"AWS_ACCESS_KEY_ID": "varve-bench-user", "AWS_SECRET_ACCESS_KEY": "varve-bench-secret", "AWS_REGION": "us-east-1",
	"AWS_ALLOW_HTTP": "true", "AWS_EC2_METADATA_DISABLED": "true",
}

// bucket is versitygw, a server with the interface of S3, with one bucket.
type bucket struct {
	url    string
	folder string // of the values
	cmd    *exec.Cmd
	stored map[string]bool // the sets that are uploaded
}

// errNoGateway says that there is no server.
var errNoGateway = errors.New("versitygw is not installed: store/servers/setup installs it")

// gateway returns the path of the program that store/servers/setup installs.
func gateway() (string, error) {
	folder := os.Getenv("VARVE_SERVERS")
	if cache, err := os.UserCacheDir(); err == nil && folder == "" {
		folder = filepath.Join(cache, "varve-servers")
	}
	if name, err := exec.LookPath(filepath.Join(folder, "versitygw")); err == nil {
		return name, nil
	}
	name, err := exec.LookPath("versitygw")
	if err != nil {
		return "", errNoGateway
	}
	return name, nil
}

// openBucket starts the server on an empty folder, for at most an hour.
func openBucket(ctx context.Context, folder string) (*bucket, error) {
	program, err := gateway()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := errors.Join(l.Close(), os.MkdirAll(folder, 0o777)); err != nil {
		return nil, err
	}
	for name, value := range account {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	b := &bucket{url: "http://" + address, folder: folder, stored: map[string]bool{}}
	b.cmd = exec.CommandContext(ctx, program, "--port", address, "--keep-alive", "--quiet", "posix", folder)
	b.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+account["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY="+account["AWS_SECRET_ACCESS_KEY"])
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("versitygw: %w", err)
	}
	time.AfterFunc(time.Hour, func() { _ = b.cmd.Process.Kill() }) // it has ended long ago
	if err := b.create(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// create waits for the server and makes the bucket.
func (b *bucket) create(ctx context.Context) error {
	for range 200 {
		if c, err := net.Dial("tcp", b.url[len("http://"):]); err == nil {
			_ = c.Close()
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	client := awss3.New(awss3.Options{
		BaseEndpoint: &b.url, Region: account["AWS_REGION"], UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: account["AWS_ACCESS_KEY_ID"], SecretAccessKey: account["AWS_SECRET_ACCESS_KEY"]}, nil
		}),
	})
	if _, err := client.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String(bucketName)}); err != nil {
		return err
	}
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",`+
		`"Action":["s3:GetObject","s3:ListBucket"],"Resource":["arn:aws:s3:::%[1]s/*","arn:aws:s3:::%[1]s"]}]}`, bucketName)
	_, err := client.PutBucketPolicy(ctx, &awss3.PutBucketPolicyInput{Bucket: aws.String(bucketName), Policy: &policy})
	return err
}

func (b *bucket) close() error {
	err := b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed
	return errors.Join(err, os.RemoveAll(b.folder))
}

// link is how a candidate reaches the bucket.
type link struct {
	latency   time.Duration
	bandwidth float64 // bytes per second in each direction, of all requests together, or 0
}

// through lets all programs reach the bucket by a link. It returns the proxy that shapes
// it, or nil if there is none.
func (b *bucket) through(l link) (*far, error) {
	if l.bandwidth == 0 {
		return nil, os.Setenv("AWS_ENDPOINT_URL", b.url)
	}
	to, err := url.Parse(b.url)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.DisableCompression = 1000, 1000, true
	f, err := serveAs(&httputil.ReverseProxy{Transport: transport, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Host = p.In.Host // the signature covers it
	}}, l.latency, l.bandwidth)
	if err != nil {
		return nil, err
	}
	return f, os.Setenv("AWS_ENDPOINT_URL", f.url[:len(f.url)-1])
}

// location returns the location of a store of the bucket.
func location(name string) string { return "s3://" + bucketName + "/" + name }

// open opens the bucket without a detour.
func (b *bucket) open(ctx context.Context) (*s3.Store, error) {
	return s3.Open(ctx, bucketName, "", &s3.Options{Endpoint: b.url})
}

// upload stores a data set, unless it is there already.
func (b *bucket) upload(ctx context.Context, dir string) error {
	if name := filepath.Base(dir); !b.stored[name] {
		from, err := filestore.Open(dir, nil)
		if err != nil {
			return err
		}
		defer from.Close()
		b.stored[name] = true
		return b.copy(ctx, from, store.Path{}, name)
	}
	return nil
}

// copy stores all values of a folder below a name.
func (b *bucket) copy(ctx context.Context, from store.Store, folder store.Path, name string) error {
	to, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer to.Close()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for e, err := range store.List(ctx, from, folder, true) {
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			source, err := folder.Key(e.Name)
			if err != nil {
				return err
			}
			key, err := store.ParseKey(name + "/" + e.Name)
			if err == nil {
				_, _, err = store.CopyValue(within, to, key, from, source, 0, store.Flush)
			}
			return err
		})
	}
	return group.Wait()
}

// target prepares an empty store and returns its name. With all it begins as a copy of
// the set, otherwise it has the document only.
func (b *bucket) target(ctx context.Context, set string, all bool) (string, error) {
	const name = "target.zarr"
	// The server stores values as files.
	if err := os.RemoveAll(filepath.Join(b.folder, bucketName, name)); err != nil {
		return "", err
	}
	s, err := b.open(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if all {
		at, err := store.ParsePath(set)
		if err != nil {
			return "", err
		}
		return location(name), b.copy(ctx, s, at, name)
	}
	_, _, err = store.CopyValue(ctx, s, store.MustKey(name+"/zarr.json"), s, store.MustKey(set+"/zarr.json"), 0, store.Flush)
	return location(name), err
}
