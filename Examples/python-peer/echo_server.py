"""Serves campanile.rpc.v1.EchoService: `python3 echo_server.py [PORT]` prints the port, and drains on SIGTERM."""

import asyncio
import inspect
import signal
import sys

from peer_connection import CREDIT_MAX, STATUSES, RPCError, is_integer
from peer_server import FieldError, Server, streams_requests

SERVICE = "campanile.rpc.v1.EchoService"


def text(request, field):
    value = request.get(field)
    if value is not None and not isinstance(value, str):
        raise FieldError(field, "a string")
    return value or ""


def number(request, field, least=0, most=CREDIT_MAX):
    """Returns an integer of ProtoJSON, which is a number or digits in a string."""
    value = request.get(field) or 0
    try:
        value = int(value) if isinstance(value, str) or isinstance(value, float) and value.is_integer() else value
    except ValueError:
        pass
    if type(value) is not int:
        raise FieldError(field, "an integer")
    if not is_integer(value, -CREDIT_MAX - 1, CREDIT_MAX):
        raise FieldError(field, "an integer of 32 bits", "OUT_OF_RANGE")
    if not least <= value <= most:
        raise RPCError("INVALID_ARGUMENT", "OUT_OF_RANGE", f"{field} must be {least} to {most}")
    return value


def message(**fields):
    """A message in ProtoJSON, which leaves out default values."""
    return {name: value for name, value in fields.items() if value}


async def echo(request, call):
    payload, delay_ms = text(request, "payload"), number(request, "delayMs", most=600_000)
    await asyncio.sleep(delay_ms / 1000)
    return message(payload=payload)


async def expand(request, call):
    payload, interval_ms = text(request, "payload"), number(request, "intervalMs")
    for index in range(number(request, "count", most=1_000_000)):
        if index:
            await asyncio.sleep(interval_ms / 1000)
        yield message(index=index, payload=payload)


@streams_requests
async def collect(requests, call):
    count = size = 0
    async for request in requests:
        count, size = count + 1, size + len(text(request, "payload").encode())
    return message(messageCount=count, payloadSizeBytes=str(size) if size else None)


@streams_requests
async def chat(requests, call):
    index = 0
    async for request in requests:
        yield message(index=index, payload=text(request, "payload"))
        index += 1


async def fail(request, call):
    explanation, key = text(request, "message"), text(request, "key")
    code, times = number(request, "code", 1, 16), number(request, "times")
    executions[key] = count = executions.get(key, 0) + 1
    if times and count > times:
        return message(executionCount=count)
    raise RPCError(STATUSES[code], "FAILED_AS_ASKED", explanation, metadata={"executionCount": str(count)})


async def list_services(request, call):
    """Describes this server to `campanile call`, which needs to know the methods that stream."""
    methods = [{"name": name, "requestType": f"campanile.rpc.v1.{name}Request", "responseType": f"campanile.rpc.v1.{name}Response",
                "clientStreaming": hasattr(handler, "streams_requests"), "serverStreaming": inspect.isasyncgenfunction(handler)}
               for name, handler in METHODS.items()]
    return {"services": [{"name": SERVICE, "methods": methods}]}


executions = {}
METHODS = {"Echo": echo, "Expand": expand, "Collect": collect, "Chat": chat, "Fail": fail}
HANDLERS = {f"{SERVICE}/{name}": handler for name, handler in METHODS.items()}
HANDLERS["campanile.rpc.v1.ReflectionService/ListServices"] = list_services


async def main(port="0"):
    server, stop = Server(HANDLERS), asyncio.Event()
    print(await server.start(port=int(port)), flush=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.drain()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
