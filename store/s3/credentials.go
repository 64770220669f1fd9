// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// credentialError is the error of a request that is not sent, because there are no
// credentials for it.
type credentialError struct{ err error }

func (c *credentialError) Error() string { return c.err.Error() }
func (c *credentialError) Unwrap() error { return c.err }

// waysToCredentials says how to give credentials.
const waysToCredentials = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile (AWS_PROFILE or the option profile)," +
	" sign in (aws sso login), run on a machine or in a container that has a role, or give the options access_key_id and" +
	" secret_access_key; a public bucket needs none: give the option anon=true"

// noCredentials is the error of a search that has found no credentials.
func noCredentials(cause error) error {
	return &credentialError{errors.New("no credentials were found (" + bare(cause).Error() + "); " + waysToCredentials)}
}

// bare returns an error of the SDK as text, without the words of the SDK around its
// cause. Nothing in it may be taken for an answer of the bucket, so it wraps nothing.
func bare(err error) error {
	text := err.Error()
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		text = operation.ServiceID + ": " + inner(operation.Err)
		if operation.ServiceID == metadataService {
			text = "the last source, the metadata service of the machine (IMDS), has none: " + inner(operation.Err)
		}
	}
	return errors.New(strings.TrimPrefix(text, "failed to refresh cached credentials, "))
}

// metadataService is the SDK's name of the metadata service of machines.
const metadataService = "ec2imds"

// inner returns the text of the cause of a failed operation of the SDK.
func inner(err error) string {
	var answer *smithyhttp.ResponseError
	var api smithy.APIError
	var sending *smithyhttp.RequestSendError
	var call *url.Error
	var canceled *smithy.CanceledError
	switch {
	case errors.As(err, &api):
		return api.ErrorCode() + ": " + printable(api.ErrorMessage())
	case errors.As(err, &answer) && answer.HTTPStatusCode() != 0:
		return "status " + strconv.Itoa(answer.HTTPStatusCode())
	case errors.As(err, &canceled), errors.Is(err, context.DeadlineExceeded):
		return "it does not answer in time"
	case errors.As(err, &sending) && errors.As(sending.Err, &call):
		return call.Err.Error()
	case errors.As(err, &sending):
		return sending.Err.Error()
	}
	return err.Error()
}

// Limits of questions to the metadata service. It is near and answers in milliseconds, or
// it is not there: then three attempts with growing pauses, as the SDK makes them, only
// delay the message that there are no credentials. One attempt waits 250 ms for the
// connection, and then 500 ms for the answer: these are limits of the SDK.
const (
	metadataTries = 2
	metadataPause = 100 * time.Millisecond
	metadataTime  = 3 * time.Second // of one question with all its attempts and its token
)

// machine asks the metadata service of the machine for the credentials of its role. It is
// the last source of the SDK's chain.
type machine struct{ *imds.Client }

// use makes a provider of credentials ask m.
func (m *machine) use(o *ec2rolecreds.Options) { o.Client = m }

// configure makes the client. The configuration, which names the endpoint, is loaded
// after the options that name m.
func (m *machine) configure(cfg aws.Config) {
	m.Client = imds.NewFromConfig(cfg, func(o *imds.Options) {
		o.DisableDefaultMaxBackoff = true // it would replace that of the retryer
		o.Retryer = awsretry.NewStandard(func(o *awsretry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff = metadataTries, metadataPause
		})
		fallback := o.EnableFallback != aws.FalseTernary
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			if fallback && stack.ID() == tokenOperation {
				// The service may be silent for tokens, and answer without one.
				if _, err := stack.Finalize.Remove((*awsretry.Attempt)(nil).ID()); err != nil {
					return err
				}
			}
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("VarveLimit", limited), middleware.Before)
		})
	})
}

// tokenOperation is the SDK's name of the question for a token, which the second version
// of the service wants with other questions.
const tokenOperation = "getToken"

// limited limits the time of an operation. Its answer has been read when it returns.
func limited(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	return next.HandleInitialize(ctx, in)
}

// silent reports whether a search for credentials ended because the metadata service did
// not answer in time. It may be slow, so its role may be found later. A service that
// takes no connections in time is not there.
func silent(err error) bool {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) || operation.ServiceID != metadataService {
		return false
	}
	var canceled *smithy.CanceledError
	var network net.Error
	var dialing *net.OpError
	switch {
	case errors.As(err, &dialing) && dialing.Op == "dial":
		return false
	case errors.As(err, &network) && network.Timeout():
		return true
	}
	return errors.As(err, &canceled) || errors.Is(err, context.DeadlineExceeded)
}

var _ ec2rolecreds.GetMetadataAPIClient = (*machine)(nil)
