package redislock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

type verdict int

const (
	unlisted  verdict = iota // not in the table: a Lock gives up, a lease is renewed until its deadline
	foreign                  // the key is in use for something else: a Lock gives up, a lease is lost
	retry                    // temporary: send it again
	elsewhere                // retry, with the server that the client library finds by then
	redirect                 // elsewhere if the client library follows redirects, else final
	password                 // retry if the server has accepted the password before: it is being changed; else final
	final                    // permanent: a Lock gives up, a lease is lost
)

type refusal struct {
	prefix  string
	verdict verdict
	advice  string
}

const (
	rights      = "the rights that a user needs stand in the package comment of redislock"
	credentials = "set Username and Password in the options of the client library"
	memory      = "give the server more memory: locks need its policy noeviction"
	primary     = "connect to the primary, by redis.NewFailoverClient if Sentinel knows it"
	otherName   = "the name is in use, by a lock of another kind or something else"
)

// refusals are the errors of Redis and Valkey, for every request of this package.
var refusals = []refusal{
	{"LOADING", retry, ""},               // it reads its data from disk
	{"BUSY ", retry, ""},                 // it runs another script
	{"MASTERDOWN", retry, ""},            // a replica that has lost its primary
	{"NOREPLICAS", retry, ""},            // too few replicas follow
	{"CLUSTERDOWN", retry, ""},           // no node serves the slot
	{"TRYAGAIN", retry, ""},              // the slot is moving, and some of the keys have moved
	{"NOSCRIPT", retry, ""},              // another server answers, or its scripts were flushed
	{"MISCONF", retry, ""},               // it cannot write to its disk
	{"OOM", retry, memory},               // until keys expire
	{"IOERR", retry, ""},                 // cannot reach another server
	{"UNBLOCKED", retry, ""},             // it became a replica during a blocking pop
	{"max number of clients", retry, ""}, // too many connections
	{"NOMASTERLINK", retry, ""},          // a replica that does not replicate yet
	{"NOGOODSLAVE", retry, ""},           // Sentinel finds no replica to promote
	{"INPROG", retry, ""},                // Sentinel promotes one
	{"READONLY", elsewhere, primary},     // a replica
	{"MOVED", redirect, ""},              // another node has the slot
	{"ASK ", redirect, ""},               // another node has the keys of a slot that moves
	{"REDIRECT", redirect, ""},           // another server is the primary (Valkey)
	{"WRONGPASS", password, credentials}, // unlisted user, or wrong password
	{"NOAUTH", password, credentials},    // no password was sent
	{"AUTH ", password, credentials},     // a password was sent, and the server has none
	{"WRONGTYPE", foreign, otherName},    // the key has another type
	{"NOPERM", final, rights},            // the user lacks a right
	{"DENIED", final, ""},                // protected mode
	{"NOPROTO", final, ""},               // another version of the protocol
	{"CROSSSLOT", final, ""},             // keys of several slots in one request
}

func refusalOf(err error) refusal {
	for _, a := range refusals {
		if redis.HasErrorPrefix(err, a.prefix) || a.advice == rights && forbidden(err) {
			return a
		}
	}
	return refusal{}
}

// judge returns the verdict on err. Only a request that cannot be sent is not sent again.
func judge(err error) verdict {
	if refused(err) {
		return refusalOf(err).verdict
	}
	var untrusted *tls.CertificateVerificationError
	if errors.Is(err, redis.ErrClosed) || errors.Is(err, errNoBlocking) || errors.As(err, &untrusted) {
		return unlisted
	}
	return retry
}

// final reports whether it is pointless to repeat a request that failed with err.
func (c *Client) final(err error) bool { return c.settled(err) || judge(err) <= foreign }

// settled is final for renewals and the like: an answer outside the table may be temporary.
func (c *Client) settled(err error) bool {
	switch judge(err) {
	case final:
		return true
	case password:
		return !c.admitted.Load()
	case redirect:
		_, single := c.rdb.(*redis.Client)
		return single
	}
	return false
}

// deaf is settled for connections that listen, which may have another password.
func (c *Client) deaf(err error) bool {
	if judge(err) == password && c.separate {
		return !c.heard.Load()
	}
	return c.settled(err)
}

// refused reports whether err is an answer of the server, which has changed nothing.
func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

func forbidden(err error) bool {
	if err == nil || !refused(err) {
		return false
	}
	// Servers before 7.2 do not name the forbidden command of a script.
	text := err.Error()
	return redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(text, "user executing the script") || strings.Contains(text, "ACL failure in script")
}

func explain(err error) error {
	advice := refusalOf(err).advice
	if advice == "" || strings.Contains(err.Error(), advice) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, advice)
}
