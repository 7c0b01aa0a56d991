"""What a channel really puts on the wire, and where it refuses to send."""

import hashlib
import hmac
import json
import logging
from collections.abc import Callable

import pytest

from alerts.channels.apprise_channel import AppriseChannel
from alerts.channels.build import build_channels
from alerts.channels.slack import SlackChannel, to_blocks
from alerts.channels.target import UndeliverableError, check_host, post
from alerts.channels.webhook import SIGNATURE, WebhookChannel
from alerts.notification import Notification
from alerts.testing import START_NS, Receiver
from taximeter.clock import NS_PER_S, ManualClock
from taximeter.errors import SettingsError
from taximeter.settings import Channel

Make = Callable[..., Notification]


def test_a_webhook_is_signed_json_that_a_receiver_can_check(receiver: Receiver, notification: Make) -> None:
    """The signature is the HMAC of time and body; another body or time does not fit it."""
    WebhookChannel(f"{receiver.url}/hook", "s3cret", ManualClock(START_NS), allow_private=True).send(
        notification()
    )

    request = receiver.received[0]
    at_s = START_NS // NS_PER_S
    digest = hmac.new(b"s3cret", f"{at_s}.".encode() + request.body, hashlib.sha256).hexdigest()
    assert request.headers[SIGNATURE] == f"t={at_s},v1={digest}"
    assert request.headers["idempotency-key"] == "key-1"
    assert request.headers["content-type"] == "application/json"
    assert request.path == "/hook"
    body = json.loads(request.body)
    assert body == notification().model_dump()
    assert b"s3cret" not in request.body


def test_a_webhook_without_a_secret_is_not_signed(receiver: Receiver, notification: Make) -> None:
    """No signature is better than one that anybody could make."""
    WebhookChannel(receiver.url, None, ManualClock(START_NS), allow_private=True).send(notification())

    assert SIGNATURE not in receiver.received[0].headers


def test_slack_gets_blocks_with_a_button_that_leads_to_the_page(
    receiver: Receiver, notification: Make
) -> None:
    """The message has a header, what is so, what to do about it, and a link button."""
    SlackChannel(f"{receiver.url}/services/T/B/x", allow_private=True).send(notification())

    message = json.loads(receiver.received[0].body)
    blocks = message["blocks"]
    assert [block["type"] for block in blocks] == ["header", "section", "section", "actions", "context"]
    assert blocks[0]["text"]["type"] == "plain_text"
    assert "2 idle GPUs of qwen-coder: $7.98 an hour" in blocks[0]["text"]["text"]
    assert blocks[1]["text"] == {"type": "mrkdwn", "text": "Idle for up to 75 s."}
    assert blocks[2]["text"]["text"] == "Scale qwen-coder from 4 to 2 replicas."
    button = blocks[3]["elements"][0]
    assert button["type"] == "button"
    assert button["url"] == "http://127.0.0.1:8501/gpus?deployment=qwen-coder&since=24h"
    assert "2 idle GPUs" in message["text"]


def test_names_from_data_cannot_mention_or_link_in_slack(notification: Make) -> None:
    """A deployment named like a mention is shown, not obeyed; long texts are cut to Slack's limits."""
    message = to_blocks(
        notification(title="<!channel> " + "x" * 300, text="<http://evil|click> & " + "y" * 4000)
    )

    assert "<!channel>" not in message["text"]
    header, section = message["blocks"][0]["text"], message["blocks"][1]["text"]
    assert header["type"] == "plain_text"
    assert len(header["text"]) == 150
    assert section["text"].startswith("&lt;http://evil|click&gt; &amp;")
    assert len(section["text"]) == 3000


def test_simulated_data_is_called_simulated_in_slack(notification: Make) -> None:
    """Nobody takes a demonstration for the truth."""
    assert "simulated data" in json.dumps(to_blocks(notification(simulated=True)))
    assert "simulated data" not in json.dumps(to_blocks(notification()))


def test_apprise_carries_title_advice_and_link(receiver: Receiver, notification: Make) -> None:
    """Whatever Apprise reaches gets the whole message."""
    url = receiver.url.replace("http://", "json://")
    AppriseChannel(f"{url}/x", allow_private=True).send(notification())

    body = json.loads(receiver.received[0].body)
    assert body["title"] == notification().title
    assert body["type"] == "warning"
    for part in (notification().text, notification().advice, notification().link):
        assert part is not None
        assert part in body["message"]


def test_apprise_is_kept_to_allowed_hosts_too(receiver: Receiver, notification: Make) -> None:
    """An address inside of Apprise is checked like any other; a service with a fixed host needs no check."""
    url = receiver.url.replace("http://", "json://")

    with pytest.raises(SettingsError, match="private"):
        AppriseChannel(url, allow_private=False).send(notification())
    assert receiver.received == []


def test_apprise_tells_when_nobody_took_it(receiver: Receiver, notification: Make) -> None:
    """A refusal of the service is a failure to try again."""
    receiver.answers = [(500, {})]
    url = receiver.url.replace("http://", "json://")

    with pytest.raises(UndeliverableError):
        AppriseChannel(url, allow_private=True).send(notification())


@pytest.mark.parametrize(
    ("host", "allow_private", "reason"),
    [
        ("127.0.0.1", False, "private"),
        ("localhost", False, "private"),
        ("10.1.2.3", False, "private"),
        ("192.168.1.1", False, "private"),
        ("100.64.0.1", False, "private"),
        ("::1", False, "private"),
        ("fd12::1", False, "private"),
        ("::ffff:10.0.0.1", False, "private"),
        ("169.254.169.254", True, "link-local"),
        ("::ffff:169.254.169.254", True, "link-local"),
        ("64:ff9b::a9fe:a9fe", True, "link-local"),
        ("fe80::1", True, "link-local"),
        ("fd00:ec2::254", True, "metadata"),
        ("100.100.100.200", True, "metadata"),
        ("168.63.129.16", True, "metadata"),
        ("0.0.0.0", True, "no host"),
        ("224.0.0.1", True, "no host"),
        ("2130706433", False, "private"),
        ("0x7f.1", False, "private"),
    ],
)
def test_some_addresses_are_never_sent_to(host: str, allow_private: bool, reason: str) -> None:  # noqa: FBT001
    """Metadata and link-local never; private only where it is allowed; in whatever spelling."""
    with pytest.raises(SettingsError, match=reason):
        check_host(host, 80, allow_private=allow_private)


@pytest.mark.parametrize("host", ["8.8.8.8", "2606:4700:4700::1111"])
def test_public_addresses_may_be_sent_to(host: str) -> None:
    """What is reachable by everybody needs no leave."""
    assert check_host(host, 443, allow_private=False) == host


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://8.8.8.8/x", "https://"),
        ("file:///etc/passwd", "https://"),
        ("https:///x", "https://"),
        ("http://8.8.8.8/x", "by https only"),
        ("http://8.8.8.8:99999/x", "no address|https|port|leads nowhere"),
    ],
)
def test_addresses_that_cannot_be_a_channel_are_refused(url: str, reason: str) -> None:
    """Only http(s), and plain http only on a private network: the address may be a secret."""
    with pytest.raises((SettingsError, UndeliverableError), match=reason):
        post(url, b"", {}, allow_private=True)


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    """A checked address cannot send us on to an unchecked one."""
    receiver.answers = [(302, {"location": "http://169.254.169.254/"})]

    with pytest.raises(UndeliverableError, match="302"):
        post(receiver.url, b"", {}, allow_private=True)


def test_a_failure_never_tells_the_address(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the error nor any log of ours at warning or above shows the path, which is the secret."""
    receiver.answers = [(403, {"retry-after": "7"})]
    caplog.set_level(logging.WARNING)

    with pytest.raises(UndeliverableError) as caught:
        post(f"{receiver.url}/services/T0/B0/hush", b"", {}, allow_private=True)

    assert "hush" not in str(caught.value) + caplog.text
    assert caught.value.retry_after_s == 7.0


def test_channels_are_built_from_names_of_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is read from the environment; a channel must name exactly one address."""
    monkeypatch.setenv("SLACK_URL", "https://hooks.example/x")
    monkeypatch.setenv("MAIL_URL", "json://example.org")
    clock = ManualClock(START_NS)

    built = build_channels(
        {
            "a": Channel(slack_webhook_env="SLACK_URL"),
            "b": Channel(webhook_url="https://example.org"),
            "c": Channel(apprise_env="MAIL_URL"),
        },
        clock,
    )

    assert [type(channel) for channel in built.values()] == [SlackChannel, WebhookChannel, AppriseChannel]
    with pytest.raises(SettingsError, match=r"alerts\.channels\.x must name one of"):
        build_channels({"x": Channel()}, clock)
    with pytest.raises(SettingsError, match=r"alerts\.channels\.x must name one of"):
        build_channels(
            {"x": Channel(slack_webhook_env="SLACK_URL", webhook_url="https://example.org")}, clock
        )
    with pytest.raises(SettingsError, match="HUSH_ENV"):
        build_channels({"x": Channel(webhook_url="https://example.org", secret_env="HUSH_ENV")}, clock)
