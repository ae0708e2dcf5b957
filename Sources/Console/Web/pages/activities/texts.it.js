/** @import { Texts } from "../../types.d.ts" */

/** @type {Texts<typeof import("./texts.en.js").en>} */
export const it = {
  live: "In corso", ended: "Terminate", list: "Attività", close: "Torna all’elenco",
  liveCount: (count = 0) => `${count} in corso`,
  status: {
    ACTIVITY_STATUS_UNSPECIFIED: "–", ACTIVITY_STATUS_SCHEDULED: "Programmata", ACTIVITY_STATUS_STARTING: "In avvio", ACTIVITY_STATUS_ACTIVE: "Attiva",
    ACTIVITY_STATUS_ENDED: "Terminata", ACTIVITY_STATUS_PENDING: "In attesa",
  },
  reason: {
    END_REASON_UNSPECIFIED: "–", END_REASON_REQUESTED: "su richiesta", END_REASON_EXPIRED: "dopo 8 ore", END_REASON_CANCELLED: "prima dell’avvio",
    END_REASON_START_FAILED: "nessun token per avviarla", END_REASON_REPLACED: "sostituita", END_REASON_COMPLETED: "timer completato", END_REASON_WAITED_TOO_LONG: "attesa troppo lunga",
  },
  driver: { timer: "Timer", room: "Stanza", unread: "Non lette", caller: "App" },
  origin: { ACTIVITY_ORIGIN_UNSPECIFIED: "–", ACTIVITY_ORIGIN_LOCAL: "Avviata dall’app", ACTIVITY_ORIGIN_REMOTE: "Avviata da un push" },
  columns: { activity: "Attività", driver: "Origine", tokens: "Token", ends: "Termina tra", updated: "Aggiornata", ended: "Terminata" },
  noTokens: "Nessun token: lo stato ne aspetta uno",
  emptyTitle: "Nessuna attività in corso",
  emptyText: "Un’attività in tempo reale avviata da un’app o da un push appare qui con il suo stato, i suoi token e i suoi push.",
  emptyEnded: "Nessuna attività è terminata negli ultimi 7 giorni.",
  noUserTitle: "Le attività appartengono agli utenti",
  noUserText: "Hai effettuato l’accesso come operatore. Qui sotto puoi simulare un’attività per un utente; i push sono nella pagina Traccia, gli schermi in Dispositivi.",
  detail: {
    title: (id = "") => `Attività ${id}`,
    state: "content-state", changes: "Che cosa è cambiato", noChange: "Nessun cambiamento da quando l’hai aperta.", attributes: "Attributi", tokens: "Token", pushes: "Ultimi push",
    noPushes: "Ancora nessun push.", facts: "Dati", app: "App", environment: "Ambiente", started: "Avviata", expires: "Termina da sola", stale: "Non aggiornata da", score: "Punteggio di rilevanza",
    timestamp: "aps.timestamp", group: "Gruppo", channel: "Canale", pushesStopped: "I push sono fermi", endedAt: "Terminata",
    member: "Membro", before: "Prima", after: "Ora", added: "nuovo", removed: "rimosso", retired: (reason = "") => `ritirato: ${reason}`, loadFailed: "Non è stato possibile leggere questa attività.",
    toTrace: (id = "") => `Traccia il push ${id}`, toDevice: "Guardala sui dispositivi",
  },
  act: {
    update: "Aggiorna", end: "Termina", endNow: "Termina e rimuovi", pause: "Pausa", resume: "Riprendi", stop: "Ferma", complete: "Completa", connected: "Utente connesso", waiting: "Utente uscito",
    leave: "Lascia la stanza", stopPushes: "Ferma i push", startPushes: "Riprendi i push", disconnect: "Disconnetti tutte le stanze",
  },
  done: { updated: "Aggiornata", started: "Avviata", disconnected: (count = 0) => count === 1 ? "1 stanza terminata" : `${count} stanze terminate` },
  driven: "Questo stato lo produce il servizio; usa i suoi pulsanti.",
  form: {
    title: "Avvia un’attività", kind: "Tipo", kinds: { caller: "Stato dell’app", timer: "Timer", room: "Stanza", unread: "Notifiche non lette" },
    app: "App (bundle id)", environment: "Ambiente", remote: "Avviala con un push", attributesType: "Tipo degli attributi",
    attributes: "Attributi (JSON)", state: "content-state (JSON)", alertTitle: "Avviso: titolo", alertBody: "Avviso: testo", sound: "Con un suono", method: "Nome", session: "Sessione",
    duration: "Minuti; vuoto senza fine", completes: "Si completa da solo", room: "Id della stanza (48 cifre esadecimali)", items: "Notifiche da mostrare", staleAfter: "Non aggiornata dopo minuti",
    score: "Punteggio di rilevanza", send: "Avvia", needed: "Un avvio remoto richiede attributi e un avviso.", url: "URL di un tocco",
  },
  editor: {
    syntax: "Questo non è JSON.", object: "Deve essere un oggetto JSON.", meter: "Dimensione del payload",
    size: (size = "", limit = "") => `${size} di ${limit} byte`, excess: (excess = "") => `${excess} byte di troppo`, format: "Formatta",
    refused: "Rifiutato dal servizio",
  },
  debug: {
    title: "Simula un’attività", lead: "I sei comandi di una build di debug: agiscono sulla stanza di prova di un utente.", user: "Utente", app: "App (bundle id)",
    status: "Stato", start: "Avvia in attesa", connected: "A connesso", waiting: "A in attesa", end: "Termina", endAll: "Termina tutte",
    endedCount: (count = 0) => count === 1 ? "1 attività terminata" : `${count} attività terminate`,
    result: (live = 0, update = 0, start = 0, device = 0) => `${live} in corso · token: ${update} di aggiornamento, ${start} di avvio, ${device} del dispositivo`,
    canStart: "Un push può avviare un’attività.", cannotStart: "Nessun token di avvio: un push non può avviarla.", phase: (phase = "") => `La stanza di prova è ${phase}.`, ended: "L’attività di prova è terminata.",
    phases: { ROOM_PHASE_UNSPECIFIED: "–", ROOM_PHASE_WAITING: "in attesa", ROOM_PHASE_CONNECTED: "connessa" },
  },
};
